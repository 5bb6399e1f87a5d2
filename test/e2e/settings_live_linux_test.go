package e2e

import (
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/test/live"
)

// TestHostPathTypes: an existing path is mounted as the type that it has, and
// one that may be created is.
func TestHostPathTypes(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		socket, err := net.Listen("unix", p.path("socket"))
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		if err := os.WriteFile(p.path("file"), []byte("of the host"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mknod(p.path("block"), unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0))); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mknod(p.path("char"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
			t.Fatal(err)
		}
		var volumes, points, tests []string
		for _, v := range []struct{ name, kind, test string }{
			{"mark", "Directory", "test -d"}, {"file", "File", "grep -q host"}, {"socket", "Socket", "test -S"},
			{"block", "BlockDevice", "test -b"}, {"char", "CharDevice", "test -c"},
			{"new/directory", "DirectoryOrCreate", "test -w"}, {"new-file", "FileOrCreate", "test -f"}, {"any", "", "test -d"},
		} {
			name := strings.ReplaceAll(v.name, "/", "-")
			kind := ""
			if v.kind != "" {
				kind = ", type: " + v.kind
			}
			volumes = append(volumes, "{name: "+name+", hostPath: {path: "+p.path(v.name)+kind+"}}")
			points = append(points, "{name: "+name+", mountPath: /in/"+name+"}")
			tests = append(tests, v.test+" /in/"+name+" && echo '"+name+" is there'")
		}
		yaml := pod("job", strings.Join(tests, "; ")+"; echo made > /in/new-directory/f; true", never, "volumes: ["+strings.Join(volumes, ", ")+"]")
		yaml = strings.Replace(yaml, "command:", "volumeMounts: ["+strings.Join(points, ", ")+"]\n    command:", 1)
		out, errw, code := p.run(yaml, "--logs", "-")
		if code != 0 {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		for _, name := range []string{"mark", "file", "socket", "block", "char", "new-directory", "new-file", "any"} {
			if !strings.Contains(out, "| "+name+" is there") {
				t.Errorf("the container does not see %s\n%s", name, out)
			}
		}
		// They are the host's, and stay.
		if b, err := os.ReadFile(p.path("new/directory/f")); err != nil || string(b) != "made\n" {
			t.Errorf("%q, %v", b, err)
		}
		info, err := os.Stat(p.path("new-file"))
		if err != nil || info.Mode() != 0o644 {
			t.Errorf("%v, %v", info, err)
		}
	})
}

// TestFSGroupChangePolicy: with OnRootMismatch files are left
// alone if the claim's directory is the group's already.
func TestFSGroupChangePolicy(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := atClaims(t, rt)
		see := func(name, policy, want string) {
			t.Helper()
			out, errw, code := p.run(objects+mounting(name, "persistentVolumeClaim: {claimName: data}", "touch /v/f; stat -c '%g %a' /v/f",
				"securityContext: {fsGroup: 2000, fsGroupChangePolicy: "+policy+"}"), "--logs", "-")
			if code != 0 || !strings.Contains(out, "| "+want+"\n") {
				t.Errorf("%s: exit %d, want %q in\n%s%s", name, code, want, out, errw)
			}
		}
		see("first", "OnRootMismatch", "2000 644")
		if err := os.Chown(p.path("root/claims/default/data/f"), 0, 3000); err != nil {
			t.Fatal(err)
		}
		see("kept", "OnRootMismatch", "3000 644")
		see("changed", "Always", "2000 664")
	})
}

// TestTerminalFromInside: a terminal, and an input that stays open.
func TestTerminalFromInside(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		yaml := fields(pod("job", "tty; test -t 1 && echo out is a terminal; read -t 1 x || echo nothing was typed", never), "tty: true", "stdin: true", "stdinOnce: true") +
			fields(pod("plain", "tty; test -t 1 || echo out is none; read x || echo in has ended", never))
		out, errw, code := at(t, rt).run(yaml, "--logs", "-")
		if code != 0 {
			t.Errorf("exit %d\n%s", code, errw)
		}
		for _, want := range []string{"job/c | /dev/pts/0", "job/c | out is a terminal", "job/c | nothing was typed", "plain/c | not a tty", "plain/c | out is none", "plain/c | in has ended"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	})
}

// TestProcIsUnmaskedInAUserNamespace: procMount Unmasked, which goes with
// hostUsers false only.
func TestProcIsUnmaskedInAUserNamespace(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		if rt.Kind == live.Distro || rt.Kind == live.Containerd17 {
			t.Skipf("%s has no user namespaces", rt.Kind)
		}
		runcHandlers(t, rt)
		userNamespaces(t, rt)
		mounted := `echo "masked=$(grep -c ' /proc/' /proc/mounts)"`
		users := []string{never, "hostUsers: false", "runtimeClassName: runc-userns"}
		yaml := fields(pod("bare", mounted, users...), "securityContext: {procMount: Unmasked}") + pod("usual", mounted, users...)
		out, errw, code := at(t, rt).run(yaml, "--logs", "-")
		if code != 0 || !strings.Contains(out, "bare/c | masked=0\n") || !strings.Contains(out, "usual/c | masked=") || strings.Contains(out, "usual/c | masked=0\n") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
}
