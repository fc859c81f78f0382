package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestI1_HalfWrittenFileIsInvisible(t *testing.T) {
	m := mount(t)
	w := m.Start(`exec 3>f; echo one >&3; read; echo two >&3; read; exec 3>&-; read`)
	m.Until("the file is being written", func() bool { return m.State("f") == "staged" })
	require.Empty(t, m.List("."))
	require.NotZero(t, m.Run("cat f").Code)
	w.Say()
	require.Empty(t, m.List("."))
	w.Say()
	m.Until("the file is closed", func() bool { return m.State("f") == "" })
	require.Equal(t, "one\ntwo", m.Must("cat f"))
}
