package recording

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/podctl/podctl/internal/pod"
)

// maxObject bounds what is recorded of an object: an entry of a list, a status, a pod of an
// owner; minObject does if there are many. In bytes.
const maxObject, minObject = 64 << 10, 2 << 10

// objectLists are the fields that list objects, in answers of the runtime and of owners.
var objectLists = []string{"items", "containers", "images", "stats", "pods"}

// cutter cuts objects that are larger than allowed, so that those of one user do not keep the
// others off a recording.
type cutter struct {
	room int
	// cut are the names of objects that were cut, each once.
	cut []string
	// before: texts of the answer were cut already, by cutMessage.
	before bool
}

// cutMark ends a text that was cut.
const cutMark = " more bytes were left out"

// cutMessage cuts labels and annotations in a message that are longer than an object may have, and
// reports whether there are any: JSON of all that users write takes seconds.
func cutMessage(m protoreflect.Message) (cut bool) {
	const longest = maxObject / 4
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.IsMap() && field.MapValue().Kind() == protoreflect.StringKind && field.Name() != infoField:
			v.Map().Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
				if text := value.String(); len(text) > longest && key.String() != pod.ManifestAnnotation {
					v.Map().Set(key, protoreflect.ValueOfString(cutText(text, longest)))
					cut = true
				}
				return true
			})
		case field.IsList() && field.Message() != nil:
			for i := range v.List().Len() {
				cut = cutMessage(v.List().Get(i).Message()) || cut
			}
		case !field.IsMap() && !field.IsList() && field.Message() != nil:
			cut = cutMessage(v.Message()) || cut
		}
		return true
	})
	return cut
}

// isCut reports whether a text in a tree was cut.
func isCut(tree any) bool {
	switch tree := tree.(type) {
	case map[string]any:
		for _, value := range tree {
			if isCut(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(tree, isCut)
	case string:
		return strings.HasSuffix(tree, cutMark)
	}
	return false
}

// answer cuts the objects of an answer, or of what owners said. It returns the text itself if there
// is nothing to cut.
func (c *cutter) answer(text json.RawMessage) (json.RawMessage, error) {
	if len(text) <= c.room && !c.before {
		return text, nil
	}
	tree, err := expanded(text)
	if err != nil {
		return nil, err
	}
	known := len(c.cut)
	if cut, isList := c.lists(tree, 0); isList {
		tree = cut
	} else {
		tree = c.object(tree)
	}
	if len(c.cut) == known {
		return text, nil
	}
	if tree, err = collapsed(tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

// lists cuts the entries of the lists of objects in a tree; isList reports whether it has any.
func (c *cutter) lists(tree any, depth int) (_ any, isList bool) {
	const deepest = 4 // processes of owners, their pods, the items of these
	if depth > deepest {
		return tree, false
	}
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			list, ok := value.([]any)
			if ok && slices.Contains(objectLists, key) && (depth == 0 || key == "items" || key == "pods") {
				isList = true
				for i := range list {
					list[i] = c.object(list[i])
				}
				continue
			}
			cut, found := c.lists(value, depth+1)
			tree[key], isList = cut, isList || found
		}
	case []any:
		for i := range tree {
			cut, found := c.lists(tree[i], depth+1)
			tree[i], isList = cut, isList || found
		}
	}
	return tree, isList
}

// object cuts an object until it has room: its longest texts, and lists and maps with many entries.
func (c *cutter) object(tree any) any {
	fits := sizeOf(tree) <= c.room
	if fits && !(c.before && isCut(tree)) {
		return tree
	}
	if name := nameOf(tree); !slices.Contains(c.cut, name) {
		c.cut = append(c.cut, name)
	}
	for longest, most := c.room/4, 4096; sizeOf(tree) > c.room && most > 0; longest, most = max(longest/4, 64), most/8 {
		tree = cut(tree, longest, most)
	}
	return tree
}

// sizeOf returns about the size of a JSON value.
func sizeOf(tree any) (n int) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			n += len(key) + 4 + sizeOf(value)
		}
		return n + 2
	case []any:
		for _, value := range tree {
			n += 1 + sizeOf(value)
		}
		return n + 2
	case string:
		return len(tree) + 2
	}
	return 5
}

// cutText returns a text of at most longest bytes, which say how many more there are.
func cutText(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	const told = 40
	kept := max(longest-told, longest/2)
	return fmt.Sprintf("%s… %d%s", strings.ToValidUTF8(text[:kept], ""), len(text)-kept, cutMark)
}

// cut cuts texts that are longer, and lists and maps with more entries.
func cut(tree any, longest, most int) any {
	switch tree := tree.(type) {
	case map[string]any:
		kept := make(map[string]any, min(len(tree), most))
		for _, key := range slices.Sorted(maps.Keys(tree)) {
			// The names of the CRI and of Kubernetes, and their labels, say what the object is.
			isIdentity := slices.Contains(names, key) || slices.Contains([]string{"metadata", "status", "labels", "spec", "containers"}, key)
			if isIdentity || len(kept) < most && len(key) <= most*16 {
				kept[key] = cut(tree[key], longest, most)
			}
		}
		return kept
	case []any:
		for i := range tree[:min(len(tree), most)] {
			tree[i] = cut(tree[i], longest, most)
		}
		return tree[:min(len(tree), most)]
	case string:
		return cutText(tree, longest)
	}
	return tree
}

// nameOf returns the name under which a message lists an object.
func nameOf(tree any) string {
	fields, _ := tree.(map[string]any)
	for _, inner := range []string{"status", "attributes"} {
		if of, ok := fields[inner].(map[string]any); ok && of["metadata"] != nil {
			fields = of
		}
	}
	labels, _ := fields["labels"].(map[string]any)
	namespace, _ := labels[pod.NamespaceLabel].(string)
	name, _ := labels[pod.NameLabel].(string)
	meta, _ := fields["metadata"].(map[string]any)
	if name == "" {
		namespace, _ = meta["namespace"].(string)
		name, _ = meta["name"].(string)
	}
	if name == "" {
		name, _ = fields["id"].(string)
	}
	name = name[:min(len(name), 80)]
	if namespace != "" {
		return namespace[:min(len(namespace), 80)] + "/" + name
	}
	return name
}
