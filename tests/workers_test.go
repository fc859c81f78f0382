package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Any user may name a worker of his own, whatever his rights in the mount's root.
func TestEveryUserMayNameAWorker(t *testing.T) {
	m := mount(t)
	m.Must(`mkdir -m 777 in; echo text > in/f`)
	p := m.StartAs(nobody, `%s run --worker w -- bash -c 'setsid -w cat in/f; read; setsid -w rm in/f'`, binary)
	m.Until("the worker has it", func() bool { return m.State("in/f") == "claimed" })
	p.Say()
	require.Equal(t, result{Out: "text\n", Code: 0}, p.Wait())
}
