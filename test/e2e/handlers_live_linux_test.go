package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/test/live"
)

// handlerDir is where the runtime's handler of that name has its containers.
func handlerDir(rt *live.Instance, handler string) string {
	return filepath.Join(filepath.Dir(strings.TrimPrefix(rt.Endpoint, "unix://")), handler, "k8s.io")
}

// runcHandlers skips a test that needs several handlers with runc: CRI-O is set up
// with one.
func runcHandlers(t *testing.T, rt *live.Instance) {
	t.Helper()
	if strings.HasPrefix(rt.Kind, live.CRIO) {
		t.Skipf("%s has one handler with runc here", rt.Kind)
	}
}

// userNamespaces skips a test where the runtime cannot give pods user ids of
// their own: its handler is not there, or the kernel does not map mounts.
func userNamespaces(t *testing.T, rt *live.Instance) {
	t.Helper()
	client, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: rt.Endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	status, err := client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(status.Handlers, func(h cri.Handler) bool { return h.Name == "runc-userns" && h.UserNamespaces }) {
		t.Skip("no handler runc-userns with user namespaces: its runc could not be built, or the kernel cannot map mounts")
	}
}

// TestRuntimeClassSelectsHandler: by its name, or mapped. The sandbox
// and the container are found where that handler keeps them.
func TestRuntimeClassSelectsHandler(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		runcHandlers(t, rt)
		for class, flags := range map[string][]string{"runc-second": {"-"}, "mapped": {"--runtime-class", "mapped=runc-second", "-"}} {
			p := at(t, rt)
			proc := p.start(p.marked("classy", "echo up >> /mark/service; until test -e /mark/end; do sleep 0.1; done", never, brief, "runtimeClassName: "+class), flags...)
			p.gets(1)
			if found, err := os.ReadDir(handlerDir(rt, "runc-second")); err != nil || len(found) != 2 {
				t.Errorf("%s: the handler has %v, %v, want the sandbox and the container", class, found, err)
			}
			if err := os.WriteFile(filepath.Join(p.path("mark"), "end"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if code := proc.wait(); code != 0 {
				out, errw := proc.output()
				t.Errorf("%s: exit code %d\n%s%s", class, code, out, errw)
			}
		}
	})
}

// TestUnknownRuntimeClassIsAnError: before anything starts, or where the
// runtime does not list its handlers, from the runtime itself.
func TestUnknownRuntimeClassIsAnError(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		proc := p.start(pod("classy", "true", never, brief, "runtimeClassName: kata"), "-")
		if rt.Kind == live.Distro || rt.Kind == live.Containerd17 {
			proc.prints(`no runtime for "kata" is configured`)
			proc.signal(unix.SIGINT)
			if code := proc.wait(); code != 130 {
				t.Errorf("exit code %d", code)
			}
			return
		}
		code := proc.wait()
		out, errw := proc.output()
		if want := `runtime class "kata": the runtime has no handler of that name`; code != 1 || out != "" || !strings.Contains(errw, want) || !strings.Contains(errw, "hint: it has crun, runc") {
			t.Errorf("exit code %d, want %q\n%s%s", code, want, out, errw)
		}
	})
}

// TestUserNamespacePerPod: root in the pod is an unprivileged user of the host,
// another one for each pod, the same one after a restart; its volumes are
// root's on the host all the same.
func TestUserNamespacePerPod(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		runcHandlers(t, rt)
		p := at(t, rt)
		users := func(name, handler string) string {
			return strings.Replace(p.mountPod(mounts{
				name: name, spec: "hostUsers: false\n  " + handler, volumes: "{name: v, emptyDir: {}}",
				containers: []mounter{{"c", "set -- $(cat /proc/self/uid_map) $(cat /proc/self/gid_map); echo $1-$2-$3-$4-$5-$6 >> /mark/" + name +
					"; touch /v/f && stat -c %u /v/f >> /mark/owner-" + name + "; touch /mark/file-" + name +
					"; while test ! -e /mark/both; do sleep 0.1; done; test $(wc -l < /mark/" + name + ") = 2", "{name: v, mountPath: /v}", ""}},
			}), "Never", "OnFailure", 1)
		}
		if rt.Kind == live.Distro || rt.Kind == live.Containerd17 {
			proc := p.start(users("one", ""), "-")
			proc.prints("can't set `spec.hostUsers: false`, runtime does not support user namespaces")
			proc.signal(unix.SIGINT)
			if code := proc.wait(); code != 130 {
				t.Errorf("exit code %d", code)
			}
			return
		}
		userNamespaces(t, rt)
		proc := p.start(users("one", "runtimeClassName: runc-userns")+users("two", "runtimeClassName: runc-userns"), "-")
		eventually(t, "both pods run", func() bool {
			_, one := os.Stat(filepath.Join(p.path("mark"), "file-one"))
			_, two := os.Stat(filepath.Join(p.path("mark"), "file-two"))
			return errors.Join(one, two) == nil
		}, func() string { out, errw := proc.output(); return out + errw })
		if err := os.WriteFile(filepath.Join(p.path("mark"), "both"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if code := proc.wait(); code != 0 {
			out, errw := proc.output()
			t.Fatalf("exit code %d\n%s%s", code, out, errw)
		}
		seen := map[string]bool{}
		for _, name := range []string{"one", "two"} {
			lines := p.marks(name)
			if len(lines) != 2 || lines[0] != lines[1] || (lines[0] != "0-65536-65536-0-65536-65536" && lines[0] != "0-131072-65536-0-131072-65536") {
				t.Errorf("%s has the ids %q, want one range twice", name, lines)
			}
			seen[lines[0]] = true
			p.has("owner-"+name, "0", "0")
			info, err := os.Stat(filepath.Join(p.path("mark"), "file-"+name))
			if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
				t.Errorf("a file of %s on the host: %v, %v, want one of root", name, info, err)
			}
		}
		if len(seen) != 2 {
			t.Errorf("both pods have the same ids: %v", seen)
		}

		proc = p.start(users("three", "runtimeClassName: runc-second"), "-")
		proc.prints("can't set `spec.hostUsers: false`, RuntimeClass handler \"runc-second\" does not support user namespaces")
		proc.signal(unix.SIGINT)
		proc.wait()
	})
}
