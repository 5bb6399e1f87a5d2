package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/pty"
)

// What the commands that look inside print into a pipe and on a terminal, of a pod of
// podctl's and of one that was made by the CRI alone.
func TestOutputOfCommandsThatLookInside(t *testing.T) {
	withPods(t, []insideCase{
		{"JSON names each pod", func(t *testing.T, in *inside) {
			for _, name := range []string{"web", "bare"} {
				for _, args := range [][]string{
					{"pods", name}, {"describe", name}, {"top", "pods", name}, {"top", "containers", name + "/c"}, {"wait", name, "--for=condition=Ready", "--timeout=20s"},
				} {
					out, errw, code := in.does(t, append(args, "-o", "json")...)
					var one map[string]any
					var all []map[string]any
					if json.Unmarshal([]byte(out), &one) == nil {
						all = []map[string]any{one}
					} else if err := json.Unmarshal([]byte(out), &all); err != nil {
						t.Errorf("%q: %v", args, err)
					}
					if code != 0 || errw != "" || len(all) != 1 || !names(all[0], name) {
						t.Errorf("%q: exit code %d\n%s%s", args, code, out, errw)
					}
				}
				out, errw, code := in.does(t, "exec", name+"/c", "--", "echo", "from inside")
				if out != "from inside\n" || errw != "" || code != 0 {
					t.Errorf("exec in %s: %q, %q, exit code %d", name, out, errw, code)
				}
			}
			var images []imageJSON
			out, _, _ := in.does(t, "images", "-o", "json", "docker.io/library/busybox:latest")
			if err := json.Unmarshal([]byte(out), &images); err != nil || len(images) != 1 || len(images[0].UsedBy) < 3 {
				t.Errorf("images: %v\n%s", err, out)
			}
		}},
		{"a bare pod's container is attached to", func(t *testing.T, in *inside) {
			term := in.terminal(t, "attach", "bare")
			term.Until("attached to default/bare/c")
			term.Send(pty.CtrlC)
			if code := term.Wait(); code != 130 || term.Mode() != pty.Normal {
				t.Errorf("exit code %d, %v", code, term.Mode())
			}
		}},
		{"a pipe gets no colors and no progress, a terminal without colors none of them", func(t *testing.T, in *inside) {
			for _, args := range [][]string{
				{"pods"}, {"pods", "-o", "wide"}, {"top"}, {"describe", "web"}, {"describe", "bare"}, {"images"}, {"events"}, {"doctor"}, {"logs", "web/c", "bare", "--prefix"},
				{"inspect", "bare"}, {"cp", "bare:/bin/busybox", in.path("piped")}, {"wait", "bare", "--for=condition=Ready"}, {"nosuch"},
			} {
				if out, errw, _ := in.does(t, args...); strings.Contains(out+errw, "\x1b") {
					t.Errorf("%q prints escapes into a pipe: %q%q", args, out, errw)
				}
			}
			if err := os.Remove(in.path("piped")); err != nil {
				t.Error(err)
			}
			for _, args := range [][]string{{"pods"}, {"describe", "web"}, {"doctor"}} {
				term := in.terminal(t, append([]string{"--no-color"}, args...)...)
				if term.Wait(); strings.Contains(term.Output(), "\x1b[3") {
					t.Errorf("%q --no-color prints colors on a terminal: %q", args, term.Output())
				}
			}
		}},
		{"a watch follows on a terminal, and Ctrl-C ends it", func(t *testing.T, in *inside) {
			for _, c := range []struct {
				args  []string
				until string
				code  int
			}{
				{[]string{"pods", "-w"}, "default/web", 0},
				{[]string{"top", "-w", "--interval", "200ms"}, "default/bare", 0},
				{[]string{"events", "-w"}, "default/web", 0},
				{[]string{"logs", "-f", "web/c"}, "serving\r\n", 0},
			} {
				term := in.terminal(t, c.args...)
				term.Until(c.until)
				term.Send(pty.CtrlC)
				if code := term.Wait(); code != c.code && code != 130 || term.Mode() != pty.Normal {
					t.Errorf("%q: exit code %d, %v\n%s", c.args, code, term.Mode(), term.Output())
				} else if code != c.code {
					t.Logf("%q: exit code %d", c.args, code)
				}
			}
		}},
		{"a copy shows how far it is on a terminal", func(t *testing.T, in *inside) {
			if _, errw, code := in.does(t, "exec", "bare", "--", "truncate", "-s", "1G", "/tmp/sparse"); code != 0 {
				t.Fatal(errw)
			}
			term := in.terminal(t, "cp", "bare:/tmp/sparse", in.path("sparse"))
			term.Until("% of 1.0GiB")
			term.Send(pty.CtrlC)
			if code := term.Wait(); code != 130 && code != 0 {
				t.Errorf("exit code %d\n%s", code, term.Output())
			}
			_ = os.Remove(in.path("sparse")) // an interrupted copy leaves none
			if left := glob(t, in.path(".podctl-*")); len(left) > 0 {
				t.Errorf("left %v", left)
			}
			if _, errw, code := in.does(t, "exec", "bare", "--", "rm", "/tmp/sparse"); code != 0 {
				t.Error(errw)
			}
		}},
		{"a log of a line of 10 MiB, binary bytes and a rotated file that was cut", func(t *testing.T, in *inside) {
			long, binary := strings.Repeat("x", 10<<20), "\x00\xff\x1b[2J\x80"
			var zipped bytes.Buffer
			zip := gzip.NewWriter(&zipped)
			stamp := "2026-01-02T15:04:05.000000000Z stdout F "
			if _, err := zip.Write([]byte(stamp + "rotated\n" + stamp + "cut off\n")); err != nil || zip.Close() != nil {
				t.Fatal(err)
			}
			rotated := in.write("logs/c.log.20260102-150405.gz", zipped.String()[:zipped.Len()-10], 0o600)
			defer os.Remove(rotated)
			log, err := os.OpenFile(in.path("logs/c.log"), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			if _, err := log.WriteString(stamp + long + "\n" + stamp + binary + "\n"); err != nil {
				t.Fatal(err)
			}
			out, errw, code := in.does(t, "logs", "bare")
			if code != 1 || !strings.HasSuffix(out, long+"\n"+binary+"\n") || !strings.Contains(errw, "c.log.20260102-150405.gz") {
				t.Errorf("exit code %d, %d bytes that end with %q, want %q\n%s", code, len(out), out[max(0, len(out)-20):], binary, errw)
			}
			if out, errw, code := in.does(t, "logs", "bare", "--tail", "1"); out != binary+"\n" || errw != "" || code != 0 {
				t.Errorf("the last line: %q, exit code %d\n%s", out, code, errw)
			}
		}},
		{"files are copied by tar where the container's processes are not visible", func(t *testing.T, in *inside) {
			for _, name := range []string{"web/c", "bare"} {
				apart := func(args ...string) (string, error) { // in a PID namespace of its own
					argv := append([]string{"--pid", "--fork", "--mount-proc", binary}, append(in.flags(), args...)...)
					out, err := exec.Command("unshare", argv...).CombinedOutput()
					return string(out), err
				}
				file := in.write("tarred", "through tar\n", 0o640)
				if out, err := apart("cp", file, name+":/tmp/in"); err != nil || !strings.Contains(out, "copied 1 file") {
					t.Errorf("%s: %v\n%s", name, err, out)
				}
				if out, errw, code := in.does(t, "exec", name, "--", "stat", "-c", "%a %s", "/tmp/in"); code != 0 || out != "640 12\n" {
					t.Errorf("%s: %q, %q, exit code %d", name, out, errw, code)
				}
				back := in.path("back")
				if out, err := apart("cp", "-q", name+":/tmp/in", back); err != nil || out != "" {
					t.Errorf("%s: %v\n%s", name, err, out)
				}
				if data, err := os.ReadFile(back); err != nil || string(data) != "through tar\n" {
					t.Errorf("%s: %q, %v", name, data, err)
				}
				if out, err := apart("cp", name+":/nosuch", back); err == nil || !strings.Contains(out, "nosuch: No such file") {
					t.Errorf("%s: %v\n%s", name, err, out)
				}
				for _, path := range []string{file, back} {
					if err := os.Remove(path); err != nil {
						t.Error(err)
					}
				}
			}
		}},
	})
}

// names reports whether an object has the pod's name: in its metadata, or wait's.
func names(object map[string]any, name string) bool {
	metadata, _ := object["metadata"].(map[string]any)
	return metadata["name"] == name || object["pod"] == "default/"+name
}
