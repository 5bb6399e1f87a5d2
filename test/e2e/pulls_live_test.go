package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/pty"
)

// pulling is one of `podctl images --pulling -o json`.
type pulling struct {
	Image        string
	Repositories []string
	Since        time.Time
	Bytes, Total int64
	Layers       []struct {
		Digest       string
		Bytes, Total int64
	}
	WantedBy []struct{ Namespace, Pod string }
}

func (p *place) pulling() (all []pulling, warning string) {
	p.t.Helper()
	out, errw, code := p.fed("", "images", "--pulling", "-o", "json")
	if code != 0 {
		p.t.Fatalf("images --pulling: exit %d\n%s", code, errw)
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return all, errw
}

// A pull by another client of the CRI is listed while it lasts, with the layers that were
// there, and those that grow. CRI-O reports none: the bytes that it writes are listed, of
// an unknown image.
func TestPullsInFlightAreListed(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		registry := live.Registry(t)
		const small, large = 3 << 20, 24 << 20
		registry.PushLarge(t, "team/large:1", small, large)
		image, place, client := registry.Image("team/large:1"), at(t, rt), dialBare(t, rt)
		reports := !strings.HasPrefix(rt.Kind, "crio")

		if all, _ := place.pulling(); len(all) > 0 {
			t.Fatalf("before the pull: %+v", all)
		}
		registry.Throttle(2 << 20)
		begun, pulled := time.Now(), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_, err := client.Pull(ctx, image, nil)
			pulled <- err
		}()
		var first, last pulling
		eventually(t, "a pull is listed and grows", func() bool {
			all, warning := place.pulling()
			if len(all) != 1 {
				return false
			}
			if !reports && !strings.Contains(warning, "cri-o does not report which images it pulls") {
				t.Errorf("warning %q", warning)
			}
			if last = all[0]; first.Bytes == 0 {
				first = last
			}
			return first.Bytes > 0 && last.Bytes > first.Bytes
		}, func() string { return fmt.Sprintf("%+v", last) })
		if last.Since.Before(begun.Add(-time.Second)) || last.Since.After(time.Now()) {
			t.Errorf("since %s, the pull began at %s", last.Since, begun)
		}
		if !reports {
			if last.Image != "" || last.Total != 0 {
				t.Errorf("%+v", last)
			}
		} else if len(last.Repositories) != 1 || last.Repositories[0] != "127.0.0.1/team/large" || !strings.HasPrefix(last.Image, "127.0.0.1/team/large@sha256:") ||
			len(last.Layers) != 3 || last.Total < small+large || last.Bytes >= last.Total {
			t.Errorf("%+v", last)
		}

		if reports {
			web := place.start(strings.Replace(pod("web", server, brief), "docker.io/library/busybox:latest", image, 1), "-")
			eventually(t, "describe names the pull", func() bool {
				out, _, _ := place.fed("", "describe", "web")
				return strings.Contains(out, "pulling "+image+": ")
			}, func() string { out, errw, _ := place.fed("", "describe", "web"); return out + errw })
			if all, _ := place.pulling(); len(all) != 1 || len(all[0].WantedBy) != 1 || all[0].WantedBy[0].Pod != "web" {
				t.Errorf("wanted by: %+v", all)
			}
			registry.Throttle(0)
			web.prints("c started")
			web.ends(syscall.SIGINT, 130)
		}
		registry.Throttle(0)
		if err := <-pulled; err != nil {
			t.Fatal(err)
		}
		eventually(t, "the pull is not listed any more", func() bool { all, _ := place.pulling(); return len(all) == 0 }, func() string { return "" })
		if out, errw, code := place.fed("", "rmi", image); code != 0 {
			t.Errorf("rmi: exit %d\n%s%s", code, out, errw)
		}
	})
}

// On a terminal, each layer of a pull has a line.
func TestPullDrawsLayersOnATerminal(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		registry := live.Registry(t)
		registry.PushLarge(t, "team/layers:1", 12<<20)
		image, place := registry.Image("team/layers:1"), at(t, rt)
		registry.Throttle(2 << 20)
		pull := pty.Start(t, exec.Command(binary, append(place.flags(), "pull", "--registry-config", "none", image)...))
		if strings.HasPrefix(rt.Kind, "crio") {
			pull.Until("written by 1 pull, of any image, for ")
		} else {
			pull.Until("iB/s, for ") // some bytes of the layer that nothing had before
			matches(t, pull.Output(), `layers:1: [0-9.]+MiB of 13MiB, [0-9.]+[KM]iB/s, for [0-9]+s`)
		}
		registry.Throttle(0)
		pull.Until("TOOK")
		if code := pull.Wait(); code != 0 {
			t.Errorf("exit %d\n%s", code, pull.Output())
		}
		if out, errw, code := place.fed("", "rmi", image); code != 0 {
			t.Errorf("rmi: exit %d\n%s%s", code, out, errw)
		}
	})
}
