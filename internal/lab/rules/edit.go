package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/trace"
)

// ListField returns the JSON name of the entries of an answer, "" if it is no list of pods,
// containers, images or what they use.
func ListField(m proto.Message) string {
	fields := m.ProtoReflect().Descriptor().Fields()
	if name := string(m.ProtoReflect().Descriptor().Name()); fields.Len() != 1 || !strings.HasPrefix(name, "List") && !strings.HasPrefix(name, "Stream") {
		return ""
	}
	f := fields.Get(0)
	if !f.IsList() || f.Kind() != protoreflect.MessageKind {
		return ""
	}
	return f.JSONName()
}

// Edit changes an answer as the rule says. names know whose the entries of a list are.
func (r *Rule) Edit(m proto.Message, names *trace.Names) error {
	if !r.changesAnswer() {
		return nil
	}
	data, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m) // a state may be 0
	if err != nil {
		return fmt.Errorf("%s: %w", r.Source, err)
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return fmt.Errorf("%s: %w", r.Source, err)
	}
	if field := ListField(m); field != "" {
		entries, _ := tree[field].([]any)
		if tree[field], err = r.editList(entries, names); err != nil {
			return fmt.Errorf("%s: %w", r.Source, err)
		}
	} else if r.matchesWhere(tree) {
		r.change(tree)
	}
	if data, err = json.Marshal(tree); err != nil {
		return fmt.Errorf("%s: %w", r.Source, err)
	}
	proto.Reset(m)
	if err := protojson.Unmarshal(data, m); err != nil {
		return fmt.Errorf("%s: the answer has no such field or value: %w", r.Source, err)
	}
	return nil
}

// editList changes the entries that the rule selects.
func (r *Rule) editList(entries []any, names *trace.Names) ([]any, error) {
	kept, selected := []any{}, []map[string]any{}
	room := maxCopied
	for _, e := range entries {
		entry, ok := e.(map[string]any)
		if !ok || !r.selects(targetOf(entry, names)) || !r.matchesWhere(entry) {
			kept = append(kept, e)
			continue
		}
		if r.Omit {
			continue
		}
		r.change(entry)
		kept, selected = append(kept, entry), append(selected, entry)
	}
	sizes := make([]int, len(selected))
	for i, e := range selected {
		text, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		sizes[i] = len(text)
		for n := range r.Copies {
			if room -= sizes[i]; room < 0 {
				return nil, errCopied
			}
			kept = append(kept, copyOf(e, n+1))
		}
	}
	for n := 0; len(selected) > 0 && len(kept) < r.Fill; n++ {
		i := n % len(selected)
		if room -= sizes[i]; room < 0 {
			return nil, errCopied
		}
		kept = append(kept, copyOf(selected[i], n+1))
	}
	return kept, nil
}

// maxCopied bounds the copies that a rule adds to a list, as JSON in bytes.
const maxCopied = 64 << 20

var errCopied = fmt.Errorf("the copies have more than %d MiB", maxCopied>>20)

// copyOf returns an entry with another id of the same length.
func copyOf(entry map[string]any, n int) map[string]any {
	other := maps.Clone(entry)
	if id, ok := entry["id"].(string); ok {
		suffix := fmt.Sprintf("%06x", n)
		other["id"] = id[:max(0, len(id)-len(suffix))] + suffix
	}
	return other
}

// targetOf returns what an entry of a list is about.
func targetOf(entry map[string]any, names *trace.Names) trace.Target {
	id, _ := entry["id"].(string)
	if attributes, ok := entry["attributes"].(map[string]any); ok { // statistics
		id, _ = attributes["id"].(string)
	}
	if t := names.Target(&runtimeapi.ContainerStatusRequest{ContainerId: id}, nil); t.Container != "" {
		return t
	}
	return names.Target(&runtimeapi.PodSandboxStatusRequest{PodSandboxId: id}, nil)
}

// matchesWhere reports whether an answer, or an entry of a list, has the fields of Where.
func (r *Rule) matchesWhere(tree map[string]any) bool {
	return !slices.ContainsFunc(r.Where, func(a Assignment) bool {
		at, last := lookup(tree, a.Path, false)
		if at == nil || at[last] == nil {
			return a.Value != ""
		}
		return fmt.Sprint(at[last]) != a.Value
	})
}

func (r *Rule) change(tree map[string]any) {
	for _, a := range r.Set {
		at, last := lookup(tree, a.Path, true)
		if at == nil {
			continue
		}
		at[last] = jsonOf(a.Value)
	}
	for _, path := range r.Unset {
		if at, last := lookup(tree, path, false); at != nil {
			delete(at, last)
		}
	}
}

// jsonOf returns an object, a list or a boolean that a value is, else its text: protobuf JSON
// reads numbers and enumerations of strings, too.
func jsonOf(text string) any {
	var value any
	if isJSON := strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") || text == "true" || text == "false"; isJSON && json.Unmarshal([]byte(text), &value) == nil {
		return value
	}
	return text
}

// lookup returns the object that holds the last name of a path, and that name; nil if there is no
// such object. create adds the objects on the way.
func lookup(tree map[string]any, path string, create bool) (map[string]any, string) {
	names := strings.Split(path, ".")
	last := names[len(names)-1]
	var at any = tree
	for _, name := range names[:len(names)-1] {
		switch here := at.(type) {
		case map[string]any:
			if here[name] == nil && create {
				here[name] = map[string]any{}
			}
			at = here[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(here) {
				return nil, ""
			}
			at = here[i]
		default:
			return nil, ""
		}
	}
	object, _ := at.(map[string]any)
	return object, last
}
