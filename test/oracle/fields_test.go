package oracle

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestRecordedPodsShowTheFieldsThatNameThem: a field of which internal/desired/manifest says
// that TestPodsConfig shows its effect on a pod changes a config of that pod.
func TestRecordedPodsShowTheFieldsThatNameThem(t *testing.T) {
	cases := readPodCases(t)
	node := recordingNode(cases)
	n := 0
	for line := range strings.Lines(string(readFile(t, "../../internal/desired/manifest/testdata/fieldtests"))) {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "test/oracle" {
			continue
		}
		name, ok := strings.CutPrefix(words[1], "TestPodsConfig/")
		c, known := cases[name]
		if !ok || !known {
			t.Errorf("%s names no recorded pod", words[1])
			continue
		}
		for _, field := range words[3:] {
			n++
			if words[2] == "Container" {
				field = "spec.containers[]." + field
			}
			p := podWithout(t, c, field)
			changed := false
			for _, call := range c.calls {
				var cfg proto.Message
				switch call.Method {
				case "RunPodSandbox":
					cfg = renderSandbox(t, node, p, call)
				case "CreateContainer":
					cfg = renderContainer(t, node, p, call)
				default:
					continue
				}
				changed = changed || diffArgs(call.Args, argsOf(cfg, strings.NewReplacer(podIP, "<podIP>", hostIP, "<hostIP>").Replace)) != ""
			}
			if !changed {
				t.Errorf("without %s the pod %s has the same configs", field, name)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d fields seen", n)
	}
}

// podWithout returns the pod of a recording without a field.
func podWithout(t *testing.T, c podCase, field string) *v1.Pod {
	t.Helper()
	var doc map[string]any
	if err := yaml.Unmarshal(readFile(t, filepath.Join(c.dir, "pod.yaml")), &doc); err != nil {
		t.Fatal(err)
	}
	if !remove(doc, strings.Split(strings.NewReplacer("[]", "", "[", ".", "]", "").Replace(field), ".")) {
		t.Fatalf("%s: the pod has no %s", c.dir, field)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return decodePod(t, b)
}

// remove removes a field from a value, in all items of lists, and reports whether it was there.
func remove(v any, path []string) (removed bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			removed = remove(item, path) || removed
		}
	case map[string]any:
		if len(path) > 1 {
			return remove(v[path[0]], path[1:])
		}
		_, removed = v[path[0]]
		delete(v, path[0])
	}
	return removed
}
