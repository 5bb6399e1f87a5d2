package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// findings are those of `podctl doctor` by check, as "LEVEL EVIDENCE"; code is its exit
// code.
func (p *place) findings() (found map[string]string, code int) {
	p.t.Helper()
	out, errw, code := p.fed("", "doctor", "-o", "json")
	if errw != "" {
		p.t.Errorf("doctor: %s", errw)
	}
	var all []struct{ Name, Level, Evidence, Remedy string }
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	found = map[string]string{}
	for _, f := range all {
		found[f.Name] = strings.TrimSpace(found[f.Name] + "\n" + f.Level + " " + f.Evidence)
	}
	return found, code
}

// The doctor finds what each runtime can do, a network that is gone, and what a podctl
// that was killed left.
func TestDoctorFindsWhatIsWrong(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		place := at(t, rt)
		proc := place.start(pod("web", server, brief), "-")
		proc.prints("c started")
		found, code := place.findings()
		want := map[string]string{
			"runtime.ready": "ok", "runtime.network": "ok", "pods": "ok 1 pod, 1 running", "podctl": "ok running on this runtime: run-",
			"kubelet": "ok no kubelet", "cgroup.driver": "ok", "runtime.events": "ok the event stream opens", "leftover": "ok",
			"runtime.cni": "ok podctl-", "kernel.recursive-read-only": "ok handlers",
		}
		switch rt.Kind {
		case live.Distro:
			want["cgroup.driver"], want["runtime.events"], want["kernel.recursive-read-only"] = "info", "info not opened", "info"
		case live.Containerd17:
			want["cgroup.driver"], want["runtime.events"], want["kernel.recursive-read-only"] = "info", "info not opened", "info"
		case live.CRIO, live.CRIOEvents:
			want["runtime.cni"] = "info"
			if rt.Kind == live.CRIO {
				want["runtime.events"] = "info events are disabled"
			}
		}
		for check, text := range want {
			if !strings.HasPrefix(found[check], text) {
				t.Errorf("%s: %q, want %q", check, found[check], text)
			}
		}
		for check, text := range found {
			if strings.HasPrefix(text, "failure") && !strings.HasPrefix(check, "disk.") {
				t.Errorf("exit %d: %s: %s", code, check, text)
			}
		}

		proc.signal(syscall.SIGKILL)
		proc.wait()
		if found, _ := place.findings(); !strings.HasPrefix(found["pods.orphans"], "warning the podctl process of default/web has exited") {
			t.Errorf("pods.orphans: %q", found["pods.orphans"])
		}
		if out, errw, code := place.fed("", "rm", "web"); code != 0 {
			t.Errorf("rm: exit %d\n%s%s", code, out, errw)
		}

		sockets, err := filepath.Glob(place.path("run/*/*.sock"))
		if err != nil || len(sockets) != 1 {
			t.Fatalf("sockets of the killed podctl: %v %v", sockets, err)
		}
		if err := os.RemoveAll(filepath.Dir(sockets[0])); err != nil {
			t.Fatal(err)
		}

		if strings.HasPrefix(rt.Kind, live.CRIO) {
			return // it does not notice that its configuration is gone
		}
		config := filepath.Join("/run/podctl-dev", rt.Name, "cni")
		away := place.path("cni")
		if err := os.Mkdir(away, 0o755); err != nil {
			t.Fatal(err)
		}
		move := func(from, to string) {
			t.Helper()
			files, err := filepath.Glob(from + "/*")
			if err != nil || len(files) == 0 {
				t.Fatalf("no files in %s: %v", from, err)
			}
			for _, f := range files {
				data, err := os.ReadFile(f)
				if err == nil {
					err = os.WriteFile(filepath.Join(to, filepath.Base(f)), data, 0o644)
				}
				if err == nil {
					err = os.Remove(f)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		network := func(is string, exit int) {
			t.Helper()
			var last string
			eventually(t, fmt.Sprintf("the network is %s", is), func() bool {
				found, code := place.findings()
				last = fmt.Sprintf("exit %d: %s", code, found["runtime.network"])
				return strings.HasPrefix(found["runtime.network"], is) && (code == exit || exit == 0)
			}, func() string { return last })
		}
		move(config, away)
		restored := false
		t.Cleanup(func() {
			if !restored {
				move(away, config)
			}
		})
		network("failure NetworkReady is false", 1)
		move(away, config)
		restored = true
		network("ok", 0)
	})
}
