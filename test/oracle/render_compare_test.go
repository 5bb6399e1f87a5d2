package oracle

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// compareConfig compares the recorded arguments with a config, both as JSON.
func compareConfig(t *testing.T, call podCall, cfg proto.Message) {
	t.Helper()
	b, err := protojson.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	masked := strings.NewReplacer(podIP, "<podIP>", hostIP, "<hostIP>").Replace(string(b))
	var got map[string]any
	if err := json.Unmarshal([]byte(masked), &got); err != nil {
		t.Fatal(err)
	}
	want := exempt(nil, call.Args).(map[string]any)
	got = exempt(nil, envsAsObject(got)).(map[string]any)
	if diff := cmp.Diff(want, got, cmp.FilterValues(oneIsAny, cmp.Ignore())); diff != "" {
		t.Errorf("%s %s (-kubelet +podctl):\n%s", call.Method, call.Container, diff)
	}
}

// envsAsObject turns the variables into an object, as the recording has them.
func envsAsObject(cfg map[string]any) map[string]any {
	list, ok := cfg["envs"].([]any)
	if !ok {
		return cfg
	}
	object := map[string]any{}
	for _, item := range list {
		kv := item.(map[string]any)
		value, _ := kv["value"].(string)
		plain, _ := base64.StdEncoding.DecodeString(value)
		masked := strings.NewReplacer(podIP, "<podIP>", hostIP, "<hostIP>").Replace(string(plain))
		object[kv["key"].(string)] = masked
	}
	cfg["envs"] = object
	return cfg
}

// exempt is v without what oracle/README.md exempts: annotations
// kubernetes.io/config.*, and the first element of cgroupParent. A map that
// is left empty goes too.
func exempt(path []string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if strings.HasPrefix(key, "kubernetes.io/config.") {
				continue
			}
			if value = exempt(append(path, key), value); key == "annotations" && len(value.(map[string]any)) == 0 {
				continue
			}
			out[key] = value
		}
		return out
	case []any:
		var out []any
		for _, value := range v {
			out = append(out, exempt(path, value))
		}
		return out
	case string:
		if path[len(path)-1] == "cgroupParent" {
			_, rest, _ := strings.Cut(strings.TrimPrefix(v, "/"), "/")
			return rest
		}
	}
	return v
}

// oneIsAny tells whether the recording has <any> there.
func oneIsAny(a, b any) bool { return (a == "<any>") != (b == "<any>") }

func remarshal(from, to any) {
	b, err := json.Marshal(from)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		panic(err)
	}
}
