package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/test/live"
)

// mounts is a pod that mounts things: volumes, and containers with their
// volumeMounts and more, in flow style. Each mounts the place's mark at /mark.
type mounts struct {
	name, spec, volumes string
	init, containers    []mounter
}

// mounter is one container of it.
type mounter struct{ name, command, mounts, more string }

func (p *place) mountPod(m mounts) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  restartPolicy: Never\n  terminationGracePeriodSeconds: 1\n", m.name)
	if m.spec != "" {
		fmt.Fprintf(&b, "  %s\n", m.spec)
	}
	fmt.Fprintf(&b, "  volumes: [{name: mark, hostPath: {path: %s}}, %s]\n", p.path("mark"), m.volumes)
	for _, list := range []struct {
		name string
		of   []mounter
	}{{"initContainers", m.init}, {"containers", m.containers}} {
		if len(list.of) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %s:\n", list.name)
		for _, c := range list.of {
			fmt.Fprintf(&b, "  - {name: %s, image: %q, imagePullPolicy: IfNotPresent, command: [sh, -c, %q], volumeMounts: [{name: mark, mountPath: /mark}, %s]%s}\n",
				c.name, "docker.io/library/busybox:latest", c.command, c.mounts, c.more)
		}
	}
	return b.String() + "---\n"
}

// mkdir makes a directory of the place's, and returns its path.
func (p *place) mkdir(name string) string {
	p.t.Helper()
	if err := os.MkdirAll(p.path(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	return p.path(name)
}

// tmpfs mounts an empty file system until the test ends.
func (p *place) tmpfs(name string) string {
	p.t.Helper()
	dir := p.mkdir(name)
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// wrote asserts what the containers wrote to /mark/NAME, as a whole.
func (p *place) wrote(name, want string) {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.path("mark"), name))
	if got := strings.TrimSpace(string(data)); err != nil || got != want {
		p.t.Errorf("containers wrote to %s %q, %v, want %q", name, got, err, want)
	}
}

// TestSubPathIsRemountedOnRestart: a directory that is missing is
// made, subPathExpr is expanded, and a container that starts again gets the current
// content.
func TestSubPathIsRemountedOnRestart(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		yaml := strings.Replace(p.mountPod(mounts{
			name: "parts", volumes: "{name: v, emptyDir: {}}",
			init: []mounter{{"i", "stat -c %a /w >> /mark/mode; echo from-init > /w/f", "{name: v, mountPath: /w, subPath: a/b}", ""}},
			containers: []mounter{{"c", "cat /w/f >> /mark/read || echo nothing >> /mark/read; mv /v/a/b /v/old || exit 9; test -e /mark/again || { touch /mark/again; exit 1; }",
				"{name: v, mountPath: /v}, {name: v, mountPath: /w, subPathExpr: a/$(P)}", ", env: [{name: P, value: b}]"}},
		}), "Never", "OnFailure", 1)
		out, errw, code := p.run(yaml, "-")
		if code != 0 {
			t.Errorf("exit code %d\n%s%s", code, out, errw)
		}
		p.wrote("mode", "777")
		p.has("read", "from-init", "nothing")
	})
}

// TestEscapingSubPathIsNotMounted: an init container plants a symlink; the
// pod waits with the kubelet's reason, and goes on when the cause is gone.
func TestEscapingSubPathIsNotMounted(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		volume := p.mkdir("volume")
		proc := p.start(p.mountPod(mounts{
			name: "escape", volumes: "{name: v, hostPath: {path: " + volume + "}}",
			init:       []mounter{{"i", "ln -s /etc /v/link", "{name: v, mountPath: /v}", ""}},
			containers: []mounter{{"c", "ls /w > /mark/seen", "{name: v, mountPath: /w, subPath: link}", ""}},
		}), "-")
		proc.prints(`c: CreateContainerConfigError: failed to prepare subPath for volumeMount "v" of container "c"`)
		if err := errors.Join(os.Remove(filepath.Join(volume, "link")), os.Mkdir(filepath.Join(volume, "link"), 0o755),
			os.WriteFile(filepath.Join(volume, "link/mine"), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		if code := proc.wait(); code != 0 {
			out, errw := proc.output()
			t.Errorf("exit code %d\n%s%s", code, out, errw)
		}
		p.has("seen", "mine")
	})
}

// TestMountPropagation: a mount of the host reaches HostToContainer and
// Bidirectional, one of a container leaves only Bidirectional.
func TestMountPropagation(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		if !privileges(rt) {
			t.Skip(noPrivileges)
		}
		p := at(t, rt)
		volume := p.mkdir("volume")
		p.mkdir("volume/host")
		wait := "until test -e /mark/go; do sleep 0.1; done; ls /v/host > /mark/%s; "
		of := func(how string) string { return "{name: v, mountPath: /v, mountPropagation: " + how + "}" }
		proc := p.start(p.mountPod(mounts{
			name: "propagate", volumes: "{name: v, hostPath: {path: " + volume + "}}",
			containers: []mounter{
				{"none", fmt.Sprintf(wait, "none"), of("None"), ""},
				{"slave", fmt.Sprintf(wait, "slave") + "mkdir /v/slave; mount -t tmpfs none /v/slave; touch /v/slave/inside",
					of("HostToContainer"), ", securityContext: {privileged: true}"},
				{"both", fmt.Sprintf(wait, "both") + "mkdir /v/both; mount -t tmpfs none /v/both; touch /v/both/inside; touch /mark/mounted; until test -e /mark/end; do sleep 0.1; done; umount /v/both",
					of("Bidirectional"), ", securityContext: {privileged: true}"},
			},
		}), "-")
		for _, c := range []string{"none", "slave", "both"} {
			proc.prints(c + " started")
		}
		if err := os.WriteFile(filepath.Join(p.tmpfs("volume/host"), "of-the-host"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		touch := func(name string) {
			if err := os.WriteFile(filepath.Join(p.path("mark"), name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		touch("go")
		eventually(t, "a container mounts", func() bool {
			_, err := os.Stat(filepath.Join(p.path("mark"), "mounted"))
			return err == nil
		}, func() string { out, errw := proc.output(); return out + errw })
		if _, err := os.Stat(filepath.Join(volume, "both/inside")); err != nil {
			t.Errorf("a mount of the container with Bidirectional is not on the host: %v", err)
		}
		touch("end")
		if code := proc.wait(); code != 0 {
			out, errw := proc.output()
			t.Errorf("exit code %d\n%s%s", code, out, errw)
		}
		if _, err := os.Stat(filepath.Join(volume, "slave/inside")); !os.IsNotExist(err) {
			t.Errorf("a mount of the container with HostToContainer is on the host: %v", err)
		}
		p.wrote("none", "")
		p.wrote("slave", "of-the-host")
		p.wrote("both", "of-the-host")
	})
}

// TestMountLeftByContainerIsReportedAndKept: the pod's directory
// stays until it is unmounted.
func TestMountLeftByContainerIsReportedAndKept(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		if !privileges(rt) {
			t.Skip(noPrivileges)
		}
		p := at(t, rt)
		outside := p.mkdir("outside")
		if err := os.WriteFile(filepath.Join(outside, "precious"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		proc := p.start(p.mountPod(mounts{
			name: "left", volumes: "{name: v, emptyDir: {}}, {name: out, hostPath: {path: " + outside + "}}",
			containers: []mounter{{"c", "mkdir /v/left && mount -o bind /out /v/left",
				"{name: v, mountPath: /v, mountPropagation: Bidirectional}, {name: out, mountPath: /out}", ", securityContext: {privileged: true}"}},
		}), "-")
		proc.prints("still mounted in it: ")
		left, err := filepath.Glob(p.path("root") + "/pods/*/volumes/kubernetes.io~empty-dir/v/left")
		if err != nil || len(left) != 1 {
			t.Fatalf("%v, %v", left, err)
		}
		if out, _ := proc.output(); !strings.Contains(out, left[0]) {
			t.Errorf("%s is not named:\n%s", left[0], out)
		}
		if err := unix.Unmount(left[0], 0); err != nil {
			t.Fatal(err)
		}
		if code := proc.wait(); code != 0 {
			out, errw := proc.output()
			t.Errorf("exit code %d\n%s%s", code, out, errw)
		}
		if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
			t.Error(err)
		}
	})
}

// TestRecursiveReadOnly: read-only below the mount, too, where the runtime
// supports it; where it does not, a pod with Enabled waits with the kubelet's
// reason.
func TestRecursiveReadOnly(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		volume := p.mkdir("volume")
		p.tmpfs("volume/below")
		pod := func(name, how string) string {
			return p.mountPod(mounts{
				name: name, volumes: "{name: v, hostPath: {path: " + volume + "}}",
				containers: []mounter{{"c", "touch /v/x && echo top >> /mark/" + name + "; touch /v/below/x && echo below >> /mark/" + name + "; true",
					"{name: v, mountPath: /v, readOnly: true, recursiveReadOnly: " + how + "}", ""}},
			})
		}
		able := rt.Kind != live.Distro && rt.Kind != live.Containerd17
		out, errw, code := p.run(pod("disabled", "Disabled")+pod("possible", "IfPossible"), "-")
		if code != 0 {
			t.Errorf("exit code %d\n%s%s", code, out, errw)
		}
		p.has("disabled", "below")
		if able {
			p.has("possible")
		} else {
			p.has("possible", "below")
		}
		proc := p.start(pod("enabled", "Enabled"), "--wait-timeout", "2m", "-")
		if !able {
			proc.prints(`c: CreateContainerConfigError: failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is not supported by the runtime`)
			proc.signal(unix.SIGINT)
		}
		if code := proc.wait(); able && code != 0 || !able && code != 130 {
			out, errw := proc.output()
			t.Errorf("exit code %d\n%s%s", code, out, errw)
		}
		p.has("enabled")
	})
}

// TestImageVolume: pulled as any image, mounted read-only, whole or in part.
func TestImageVolume(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		place := at
		if strings.HasPrefix(rt.Kind, live.CRIO) {
			place = beside // CRI-O leaves an image mounted that was a volume
		}
		p := place(t, rt)
		registry := live.Registry(t, "data:1")
		pod := func(name, image string) string {
			return p.mountPod(mounts{
				name: name, volumes: "{name: im, image: {reference: " + registry.Image(image) + ", pullPolicy: IfNotPresent}}",
				containers: []mounter{{"c", "test -x /im/bin/busybox && cat /im/etc/passwd | head -1 >> /mark/service; cat /part/group | head -1 >> /mark/service; touch /im/x || echo read-only >> /mark/service",
					"{name: im, mountPath: /im}, {name: im, mountPath: /part, subPath: etc}", ""}},
			})
		}
		out, errw, code := p.run(pod("im", "data:1"), "-")
		if rt.Kind == live.Distro || rt.Kind == live.Containerd17 {
			if want := `volume "im" is an image, which containerd `; code != 1 || !strings.Contains(out, want) {
				t.Errorf("exit code %d, want %q\n%s%s", code, want, out, errw)
			}
			return
		}
		if code != 0 || len(registry.Requests()) == 0 {
			t.Errorf("exit code %d, pulled %v\n%s%s", code, registry.Requests(), out, errw)
		}
		p.has("service", "root:x:0:0:root:/root:/bin/sh", "root:x:0:", "read-only")

		proc := p.start(pod("missing", "no-such:1"), "-")
		proc.prints("ErrImagePull: failed to pull image")
		proc.signal(unix.SIGINT)
		if code := proc.wait(); code != 130 {
			out, errw := proc.output()
			t.Errorf("exit code %d\n%s%s", code, out, errw)
		}
	})
}

// TestSubPathsAreUnmountedAfterPodctlIsKilled: the next podctl of that name
// unmounts them.
func TestSubPathsAreUnmountedAfterPodctlIsKilled(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		yaml := p.mountPod(mounts{
			name: "killed", volumes: "{name: v, emptyDir: {}}",
			containers: []mounter{{"c", `trap "exit 0" TERM; echo x >> /mark/service; ` + forever, "{name: v, mountPath: /w, subPath: d}", ""}},
		})
		first := p.start(yaml, "-")
		p.gets(1)
		first.prints("c started") // else the runtime may call the start off
		first.signal(unix.SIGKILL)
		first.wait()
		if found, _ := filepath.Glob(p.path("root") + "/pods/*/volume-subpaths/v/c/1"); len(found) != 1 {
			t.Errorf("%v, want the subPath", found)
		}
		second := p.start(yaml, "-")
		second.prints("already holds the pod")
		second.signal(unix.SIGINT)
		select {
		case <-second.done:
		case <-time.After(timeout):
			t.Fatal("not ended")
		}
	})
}
