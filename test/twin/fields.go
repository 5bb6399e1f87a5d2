package twin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// fields compares two requests path by path. A timeout may differ by so many seconds.
func (p *comparing) fields(what string, a, b any, seconds int) {
	x, y := map[string]string{}, map[string]string{}
	flatten("", a, x)
	flatten("", b, y)
	for _, path := range slices.Sorted(maps.Keys(union(x, y))) {
		if own.MatchString(path) || p.more != 0 && counted.MatchString(path) {
			continue
		}
		p.Fields++
		if path == ".timeout" && near(x[path], y[path], seconds) {
			continue
		}
		if x[path] != y[path] {
			p.differ(what+" "+path, x[path], y[path])
		}
	}
}

// near reports whether two whole numbers in JSON strings differ by so much at most.
func near(a, b string, most int) bool {
	x, errA := strconv.Atoi(strings.Trim(a, `"`))
	y, errB := strconv.Atoi(strings.Trim(b, `"`))
	return errA == nil && errB == nil && max(x-y, y-x) <= most
}

// own are the fields that are never alike: ids, what each node alone writes, and cgroups,
// which podctl makes for no simulated runtime.
var own = regexp.MustCompile(`^\.(containerId|podSandboxId)$|\.annotations\.(podctl\.io/|kubernetes\.io/config\.)|\.linux\.cgroupParent$`)

// flatten writes the leaves of JSON by their paths; elements with a key or a path are named by it.
func flatten(path string, v any, to map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			flatten(path+"."+key, value, to)
		}
	case []any:
		for i, value := range v {
			name := fmt.Sprint(i)
			if object, ok := value.(map[string]any); ok {
				name = cmp.Or(text(object, "key"), text(object, "containerPath"), name)
			}
			flatten(path+"["+name+"]", value, to)
		}
	default:
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		to[path] = string(text)
	}
}
