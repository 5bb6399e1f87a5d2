package look

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// difference is a path whose value differs between two answers. Old or New is nil where
// there is none.
type difference struct {
	// Path is a JSONPath: .status.exitCode, .info.config.envs[2].value.
	Path     string
	Old, New any
}

// diffAnswers returns the differences between two answers, sorted by path. A list of
// NAME=VALUE texts is compared by name, others element by element.
func diffAnswers(before, after any) []difference {
	old, now := map[string]any{}, map[string]any{}
	flatten("", before, old)
	flatten("", after, now)
	paths := map[string]bool{}
	for path := range old {
		paths[path] = true
	}
	for path := range now {
		paths[path] = true
	}
	var all []difference
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if was, is := old[path], now[path]; was != is {
			all = append(all, difference{Path: path, Old: was, New: is})
		}
	}
	return all
}

// flatten collects the scalars of a tree by their paths. Empty lists and objects are
// nothing.
func flatten(path string, tree any, into map[string]any) {
	switch value := tree.(type) {
	case map[string]any:
		for key, v := range value {
			flatten(path+field(key), v, into)
		}
	case []any:
		named := assignments(value)
		for i, v := range value {
			if named {
				name, text, _ := strings.Cut(v.(string), "=")
				into[path+"["+name+"]"] = text
				continue
			}
			flatten(fmt.Sprintf("%s[%d]", path, i), v, into)
		}
	case nil:
	default:
		into[path] = value
	}
}

// field is a step of a path: keys that are no identifiers are quoted.
func field(key string) string {
	plain := func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	if key == "" || strings.ContainsFunc(key, plain) {
		return "[" + strconv.Quote(key) + "]"
	}
	return "." + key
}

// assignments reports whether a list is one of NAME=VALUE texts, each name once.
func assignments(list []any) bool {
	seen := map[string]bool{}
	for _, v := range list {
		text, ok := v.(string)
		name, _, found := strings.Cut(text, "=")
		if !ok || !found || name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return len(list) > 0
}
