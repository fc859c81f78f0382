package actor

import (
	"context"
	"encoding/json"
	"os/exec"
	"path"
	"strings"
	"time"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// operator gives orders about what it finds in the status: it releases claims, and delivers again what is whole.
func operator(a *Actor) int {
	for a.alive() && a.Bin != "" {
		a.order()
		a.pause(400 * time.Millisecond)
	}
	return 0
}

func (a *Actor) order() {
	out, err := a.airlockfs("status", "--json", a.Root)
	var s report.Status
	if err != nil || json.Unmarshal(out, &s) != nil {
		return
	}
	a.rand.Shuffle(len(s.Items), func(i, j int) { s.Items[i], s.Items[j] = s.Items[j], s.Items[i] })
	orders := 0
	for _, i := range s.Items {
		name := path.Base(i.Path)
		if !strings.HasPrefix(name, "u-") || orders == 2 {
			continue
		}
		switch {
		case i.State == "claimed":
			a.say.Say("release", i.Path)
			a.give("release", i.Path)
			orders++
		case i.State == "quarantined" && a.whole(i):
			a.say.Say("publish", i.Path, strings.TrimSuffix(name, ".dat"))
			a.give("requeue", i.Path)
			orders++
		}
	}
}

// whole tells whether a file in quarantine is one whose writer failed after its last byte.
func (a *Actor) whole(i report.Item) bool {
	return strings.Contains(i.Reason, "status 3") && strings.HasSuffix(i.Path, ".dat") && i.Size == int64(len(sized(strings.TrimSuffix(path.Base(i.Path), ".dat"))))
}

// give gives an order. Exit codes above 0 mean that nothing was done, if the mount was there all the time.
func (a *Actor) give(order, file string) {
	switch _, err := a.airlockfs(order, path.Join(a.Root, file)); {
	case err == nil:
		a.say.Say("ok")
	default:
		a.say.Say("unsure", strings.ReplaceAll(err.Error(), "\n", " "))
	}
}

func (a *Actor) airlockfs(args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, a.Bin, args...).Output()
}
