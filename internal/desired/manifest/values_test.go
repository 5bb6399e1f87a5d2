package manifest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// It is not parallel to another test: what is allocated is the process's.
func TestManySmallValuesInBoundedMemory(t *testing.T) {
	for name, text := range map[string]string{
		"a sequence in YAML":  "a: [" + strings.Repeat("1,", maxSource/2-10) + "1]",
		"mappings in YAML":    "a: {" + strings.Repeat("b,", maxSource/2-10) + "b}",
		"lines in YAML":       strings.Repeat("- \n", maxSource/3),
		"keys in YAML":        "a:\n" + strings.Repeat(" b: \n", maxSource/5-10),
		"a sequence in JSON":  `{"a":[` + strings.Repeat("1,", maxSource/2-10) + "1]}",
		"objects in JSON":     `{"a":[` + strings.Repeat("{},", maxSource/3-10) + "1]}",
		"a mapping in braces": `{a: [` + strings.Repeat("1,", maxSource/2-10) + "1]}",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse(t.Context(), "file", []byte(text), LoadOptions{})
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("more than %d values", maxNodes)) {
			t.Errorf("%s: %.200v", name, err)
		}
		if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 128 {
			t.Errorf("%s: %d MiB allocated", name, allocated)
		}
	}
}

// What looks like many values is text.
func TestLargeConfigMapsAreLoaded(t *testing.T) {
	configMap := func(name, line string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  text: |\n" +
			strings.Repeat("    "+line+"\n", 1<<20/(len(line)+1))
	}
	text := configMap("csv", strings.Repeat("1,", 40)) + "---\n" + configMap("json", `{"a":1,"b":[1,2],"c":{"d":null}},`) +
		"---\n" + configMap("list", "- a: b, c: - d") + "---\n" + configMap("prose", "note: a, b - c: {d}, [e]")
	set, err := Parse(t.Context(), "file", []byte(text), LoadOptions{})
	if err != nil || len(set.Objects.ConfigMaps) != 4 {
		t.Errorf("%.300v", err)
	}
}
