package oracle

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// compareConfig compares the recorded arguments with a config, both as JSON.
func compareConfig(t *testing.T, call podCall, cfg proto.Message) {
	t.Helper()
	if diff := diffArgs(call.Args, argsOf(cfg, strings.NewReplacer(podIP, "<podIP>", hostIP, "<hostIP>").Replace)); diff != "" {
		t.Errorf("%s %s (-kubelet +podctl):\n%s", call.Method, call.Container, diff)
	}
}

// diffArgs is what differs, where no difference is allowed.
func diffArgs(recorded, got map[string]any) string {
	return cmp.Diff(exempt(nil, recorded), exempt(nil, got), cmp.FilterValues(oneIsAny, cmp.Ignore()))
}

// argsOf is a message in the form of a recording. mask puts placeholders in
// the place of what they stand for.
func argsOf(cfg proto.Message, mask func(string) string) map[string]any {
	b, err := protojson.Marshal(cfg)
	if err != nil {
		panic(err)
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(mask(string(b))), &args); err != nil {
		panic(err)
	}
	return envsAsObject(args, mask)
}

// maskArgs masks what was recorded.
func maskArgs(args map[string]any, mask func(string) string) map[string]any {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	var masked map[string]any
	if err := json.Unmarshal([]byte(mask(string(b))), &masked); err != nil {
		panic(err)
	}
	return masked
}

// envsAsObject turns the variables into an object, as the recording has them.
func envsAsObject(cfg map[string]any, mask func(string) string) map[string]any {
	list, ok := cfg["envs"].([]any)
	if !ok {
		return cfg
	}
	object := map[string]any{}
	for _, item := range list {
		kv := item.(map[string]any)
		value, _ := kv["value"].(string)
		plain, _ := base64.StdEncoding.DecodeString(value)
		object[kv["key"].(string)] = mask(string(plain))
	}
	cfg["envs"] = object
	return cfg
}

// resizeHugePages gives a recorded container config the page sizes of
// another machine: one limit for each, zero unless the pod asked for more.
func resizeHugePages(args map[string]any, sizes []string) map[string]any {
	linux, _ := args["linux"].(map[string]any)
	resources, _ := linux["resources"].(map[string]any)
	recorded, ok := resources["hugepageLimits"].([]any)
	if !ok {
		return args
	}
	var limits []any
	for _, size := range sizes {
		limit := map[string]any{"pageSize": size}
		for _, r := range recorded {
			if r := r.(map[string]any); r["pageSize"] == size {
				limit = r
			}
		}
		limits = append(limits, limit)
	}
	delete(resources, "hugepageLimits")
	if len(limits) > 0 {
		resources["hugepageLimits"] = limits
	}
	return args
}

// exempt is v without what may differ (doc.go): annotations
// kubernetes.io/config.* and podctl's own, and the first element of
// cgroupParent. Annotations that are left empty go too.
func exempt(path []string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if slices.Contains(path, "annotations") && ownAnnotation(key) {
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

// ownAnnotation reports whether only the kubelet, or only podctl, sets it.
func ownAnnotation(key string) bool {
	return strings.HasPrefix(key, "kubernetes.io/config.") || strings.HasPrefix(key, "podctl.io/")
}

// oneIsAny reports whether the recording has <any> there.
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
