package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// specify makes a CDI specification of a kind with the devices a and b, for the
// duration of the test. Its devices are copies of /dev/null, and set a variable.
func specify(t *testing.T, kind string) {
	t.Helper()
	dir := "/var/run/cdi"
	made := false
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		made = true
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var devices []string
	for _, name := range []string{"a", "b"} {
		devices = append(devices, fmt.Sprintf(
			`{"name": %q, "containerEdits": {"env": ["DEVICE_%s=yes"], "deviceNodes": [{"path": "/dev/podctl-%s", "hostPath": "/dev/null", "type": "c", "major": 1, "minor": 3}]}}`, name, name, name))
	}
	file := filepath.Join(dir, strings.ReplaceAll(kind, "/", "-")+".json")
	text := fmt.Sprintf(`{"cdiVersion": "0.6.0", "kind": %q, "devices": [%s]}`, kind, strings.Join(devices, ","))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
		if made {
			_ = os.Remove(dir) // unless other tests still use it
		}
	})
}

// A container has the devices that its limits ask for, and no other pod has them; those
// of an annotation are in each container. A runtime that would leave them out is
// refused.
func TestDevicesFromInside(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		kind := rt.Name + ".podctl.test/null"
		specify(t, kind)
		const look = `for d in a b; do eval v=\$DEVICE_$d; test -c /dev/podctl-$d && echo x > /dev/podctl-$d && echo "$d $v"; done; true`
		limited := func(name, number, command string) string {
			return strings.Replace(pod(name, command, never, brief), "command:", "resources: {limits: {"+kind+": "+number+"}}\n    command:", 1)
		}
		if rt.Kind == live.Distro {
			out, errw, code := p.run(limited("one", "1", look), "-")
			if code != 1 || !strings.Contains(out+errw, "CDINotSupported") || !strings.Contains(out+errw, "cannot give devices to containers") {
				t.Errorf("exit %d\n%s%s", code, out, errw)
			}
			return
		}
		out, errw, code := p.run(limited("one", "1", look+"; sleep 3")+limited("two", "1", look+"; sleep 3")+limited("three", "1", look), "--logs", "-")
		has := func(text string) int { return strings.Count(out, text) }
		if code != 0 || has("| a yes") != 2 && has("| b yes") != 2 || has("| a yes")+has("| b yes") != 3 || has("devices in use") == 0 {
			t.Errorf("one device each, the third after another pod: exit %d\n%s%s", code, out, errw)
		}

		annotated := strings.Replace(pod("both", look, never, brief), "metadata: {name: both}", "metadata: {name: both, annotations: {cdi.k8s.io/test: '"+kind+"=a,"+kind+"=b'}}", 1)
		if out, errw, code = p.run(annotated, "--logs", "-"); code != 0 || has("| a yes") != 1 || has("| b yes") != 1 {
			t.Errorf("both devices by annotation: exit %d\n%s%s", code, out, errw)
		}

		out, errw, code = p.run(limited("many", "3", look), "-")
		want := fmt.Sprintf("Allocate failed due to requested number of devices unavailable for %s. Requested: 3, Available: 2, which is unexpected", kind)
		if code != 1 || !strings.Contains(out+errw, "UnexpectedAdmissionError") || !strings.Contains(out+errw, want) {
			t.Errorf("more than there are: exit %d\n%s%s", code, out, errw)
		}
	})
}
