package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

var (
	mkstemp  = Creation{ReadWrite: true, Exclusive: true, Mode: 0o600}
	appender = Creation{Append: true, Mode: 0o644}
	database = Creation{ReadWrite: true, Mode: 0o644}
	shell    = Creation{Truncate: true, Mode: 0o644} // cmd > file
	flock    = Creation{ReadOnly: true, Mode: 0o666} // flock file cmd
)

func TestCreatedOrder(t *testing.T) {
	rules := mustRules(t, DefaultNames(), "lk/**=lock", "named/*.log=queue", "named/tmp*=queue", "work/**=work")
	for _, c := range []struct {
		path     string
		creation Creation
		class    Class
		temp     TempKind
	}{
		{"a.log", appender, ClassLog, NotTemp},
		{"a.log", shell, ClassQueue, NotTemp},
		{"a.log", flock, ClassLock, NotTemp},
		{"a.csv", appender, ClassQueue, NotTemp},
		{"a.db", database, ClassPlain, NotTemp},
		{"a.db", shell, ClassQueue, NotTemp},
		{"tmp1.db", mkstemp, ClassQueue, TempByName},
		{"tmp1.db", database, ClassPlain, NotTemp},
		{"tmp1.log", appender, ClassLog, NotTemp},
		{"tmp1", mkstemp, ClassQueue, TempByName},
		{"tmp1", Creation{ReadWrite: true, Exclusive: true, Mode: 0o100600}, ClassQueue, TempByName},
		{"tmp1", Creation{ReadWrite: true, Exclusive: true, Mode: 0o640}, ClassQueue, NotTemp},
		{"tmp1", Creation{ReadWrite: true, Mode: 0o600}, ClassQueue, NotTemp},
		{"tmp1", Creation{Exclusive: true, Mode: 0o600}, ClassQueue, NotTemp},
		{"a.tmp", shell, ClassQueue, TempByName},
		{"a.tmp", mkstemp, ClassQueue, TempByName},
		{"a.csv", mkstemp, ClassQueue, NotTemp},
		{"a.lock", flock, ClassLock, NotTemp},
		{"lk/a", flock, ClassLock, NotTemp},
		{"lk/tmp1", mkstemp, ClassLock, NotTemp},
		{"named/a.log", appender, ClassQueue, NotTemp},
		{"named/tmp1", mkstemp, ClassQueue, NotTemp},
		{"work/a.log", appender, ClassLog, NotTemp},
		{"work/tmp1", mkstemp, ClassWork, TempByName},
	} {
		m := rules.At(split(c.path)).Created(c.creation)
		assert.Equal(t, c.class, m.Class, "%s %+v", c.path, c.creation)
		assert.Equal(t, c.temp, m.Temp, "%s %+v", c.path, c.creation)
		assert.NotEmpty(t, m.Why)
	}
}

// A file made only to be locked is a ghost; one that is a lock by its name or folder is not.
func TestGhosts(t *testing.T) {
	rules := mustRules(t, DefaultNames(), "lk/**=lock", "pub/**=plain")
	m := rules.At("in", "a.csv").Created(flock)
	assert.True(t, m.Ghost && m.Unlisted)
	for _, p := range []string{"in/a.lock", "lk/a", "pub/a"} {
		m := rules.At(split(p))
		assert.Equal(t, m, m.Created(flock), p)
	}
}

// What a file becomes by behaviour has the switches of its new class, not of its folder's.
func TestCreatedForgetsTheRulesSwitches(t *testing.T) {
	rules := mustRules(t, DefaultNames(), "in/**=queue,publish=exit,on-collision=refuse,nonzero-exit=publish")
	assert.Equal(t, vectorOf(ClassLog), rules.At("in", "a.log").Created(appender).Vector)
	assert.Equal(t, PublishExit, rules.At("in", "a.log").Created(shell).Publish)
}
