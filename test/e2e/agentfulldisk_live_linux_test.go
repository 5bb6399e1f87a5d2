package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The disk of --root fills up: running pods continue and can be terminated, new
// pods wait, and start when there is space.
func TestAgentOnAFullDisk(t *testing.T) {
	eachFault(t, func(t *testing.T, a *agentPlace) {
		free := a.full("inodes")
		free()
		a.put("web.yaml", a.lone("web", "1"))
		a.put("old.yaml", a.lone("old", ""))
		agent := a.agent("--drain")
		a.lived("web", "up1")
		a.lived("old", "up")
		agent.prints("all containers are ready")
		if err := os.Mkdir(a.path("root/fill"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{"blocks", "inodes"} {
			if err := fills[how](a.path("root")); !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		}
		a.put("late.yaml", a.lone("late", ""))
		agent.prints("no space left on device")
		a.remove("old.yaml")
		a.lived("old", "up", "down")
		agent.ends(syscall.SIGKILL, -1)
		agent = a.agent("--drain")
		agent.prints("no space left on device")
		a.put("web.yaml", a.lone("web", "2"))
		a.lived("web", "up1", "down1")
		free()
		a.lived("late", "up")
		a.lived("web", "up1", "down1", "up2")
		a.holds("late", "web")
		agent.ends(syscall.SIGTERM, 0)
		a.lived("web", "up1", "down1", "up2", "down2")
	})
}

// The disk of the runtime's data fills up.
func TestAgentOnARuntimeWhoseDiskIsFull(t *testing.T) {
	t.Parallel()
	eachSmallDisk(t, "96m", func(t *testing.T, a *agentPlace, disk string) {
		a.put("web.yaml", a.lone("web", "1"))
		a.put("old.yaml", a.lone("old", ""))
		agent := a.agent("--drain")
		a.lived("web", "up1")
		a.lived("old", "up")
		agent.prints("all containers are ready")
		fill := filepath.Join(disk, "fill")
		if err := os.Mkdir(fill, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := fills["blocks"](disk); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		a.put("late.yaml", a.lone("late", ""))
		agent.prints("no space left on device")
		a.remove("old.yaml")
		a.lived("old", "up", "down")
		agent.ends(syscall.SIGKILL, -1)
		agent = a.agent("--drain")
		agent.prints("no space left on device")
		if err := os.RemoveAll(fill); err != nil {
			t.Fatal(err)
		}
		a.lived("late", "up")
		a.holds("late", "web")
		a.lived("web", "up1")
		out, _ := agent.output()
		if strings.Contains(out, "panic") {
			t.Errorf("%s", out)
		}
		agent.ends(syscall.SIGTERM, 0)
		a.lived("web", "up1", "down1")
	})
}
