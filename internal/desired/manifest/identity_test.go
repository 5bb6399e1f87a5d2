package manifest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// randomPod draws a manifest that Load accepts, as its values.
func randomPod(t *rapid.T) map[string]any {
	name := rapid.StringMatching(`[a-z][a-z0-9]{0,8}`)
	printable := rapid.StringOf(rapid.RuneFrom(nil, unicode.Letter, unicode.Punct, unicode.Number, unicode.Symbol))
	text := rapid.OneOf(printable, rapid.SampledFrom([]string{"on", "n", "1", "0777", "~", "null", "1:30", "1e3", " x ", "#", "a: b", "- ", "|", "<<", "<&>", "\u2028", "😀", "---", "x\n---\ny"}))
	labels := rapid.MapOfN(rapid.SampledFrom([]string{"app", "on", "true", "8080", "a.b/c", "y"}), rapid.StringMatching(`([a-z0-9]{1,5})?`), 0, 4)
	metadata := map[string]any{"name": name.Draw(t, "name"), "labels": anyMap(labels.Draw(t, "labels")),
		"annotations": anyMap(rapid.MapOfN(rapid.SampledFrom([]string{"note", "no", "x/y"}), text, 0, 3).Draw(t, "annotations"))}
	if rapid.Bool().Draw(t, "uid") {
		metadata["uid"] = rapid.StringMatching(`[a-z0-9]{1,8}-[a-z0-9]{1,8}`).Draw(t, "the uid")
	}
	if rapid.Bool().Draw(t, "namespace") {
		metadata["namespace"] = name.Draw(t, "the namespace")
	}
	var containers []any
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		c := map[string]any{"name": fmt.Sprintf("c%d", i), "image": "docker.io/library/busybox:latest",
			"args": []any{text.Draw(t, "arg"), text.Draw(t, "arg")},
			"env":  []any{map[string]any{"name": "A", "value": text.Draw(t, "env")}}}
		if rapid.Bool().Draw(t, "limits") {
			limits := map[string]any{"cpu": rapid.SampledFrom([]any{1, 0.5, "250m", 2.0}).Draw(t, "cpu"), "memory": "64Mi"}
			c["resources"] = map[string]any{"limits": limits}
		}
		if rapid.Bool().Draw(t, "ports") {
			c["ports"] = []any{map[string]any{"containerPort": rapid.IntRange(1, 65535).Draw(t, "port")}}
		}
		containers = append(containers, c)
	}
	spec := map[string]any{"containers": containers, "restartPolicy": rapid.SampledFrom([]string{"Always", "Never", "OnFailure"}).Draw(t, "restart"),
		"terminationGracePeriodSeconds": rapid.IntRange(0, 100).Draw(t, "grace"),
		"priorityClassName":             rapid.SampledFrom([]any{nil, "system-node-critical"}).Draw(t, "class")}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
}

func anyMap(m map[string]string) map[string]any {
	all := map[string]any{}
	for k, v := range m {
		all[k] = v
	}
	return all
}

// scribble writes a value as YAML in another manner each time: keys in any
// order, flow or block style, comments and blank lines.
func scribble(t *rapid.T, v any, indent string) string {
	flow := rapid.IntRange(0, 9).Draw(t, "flow") == 0
	noise := func() string {
		return rapid.SampledFrom([]string{"", "", "\n", " # a comment"}).Draw(t, "noise")
	}
	var b strings.Builder
	switch v := v.(type) {
	case map[string]any:
		if flow || len(v) == 0 {
			return " " + string(marshal(v)) + noise() + "\n"
		}
		b.WriteString(noise() + "\n")
		for _, key := range rapid.Permutation(slices.Sorted(maps.Keys(v))).Draw(t, "order") {
			b.WriteString(indent + string(marshal(key)) + ":" + scribble(t, v[key], indent+"  "))
		}
	case []any:
		if flow || len(v) == 0 {
			return " " + string(marshal(v)) + noise() + "\n"
		}
		b.WriteString(noise() + "\n")
		for _, item := range v {
			b.WriteString(indent + "-" + scribble(t, item, indent+"  "))
		}
	default:
		return " " + string(marshal(v)) + noise() + "\n"
	}
	return b.String()
}

func TestIdentityIsTheDocumentNotItsFormatting(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		doc := randomPod(rt)
		plain, err := yaml.Marshal(doc)
		if err != nil {
			rt.Fatal(err)
		}
		var pods []*Pod
		for _, text := range []string{string(plain), string(marshal(doc)), scribble(rt, doc, "")} {
			set, err := Load(t.Context(), []string{"-"}, from(text))
			if err != nil {
				rt.Fatalf("%v\n%s", err, text)
			}
			if len(set.Pods) != 1 {
				rt.Fatalf("%d pods of\n%s", len(set.Pods), text)
			}
			pods = append(pods, set.Pods[0])
		}
		for _, p := range pods {
			if p.UID != pods[0].UID || string(p.Document) != string(pods[0].Document) {
				rt.Fatalf("another identity: %s %s\n%s %s", p.UID, p.Document, pods[0].UID, pods[0].Document)
			}
			again, err := Decode(p.Document)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(p.Pod, again); diff != "" {
				rt.Fatalf("decoding the document makes another pod: %s", diff)
			}
			text, err := Compress(p.Document)
			if err != nil {
				rt.Fatal(err)
			}
			if back, err := Decompress(text); err != nil || string(back) != string(p.Document) {
				rt.Fatalf("decompressed: %s, %v", back, err)
			}
		}
	})
}

func TestIdentityChangesWithWhatIsImmutable(t *testing.T) {
	base := "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: x}]}"
	seen := map[string]string{}
	for _, text := range []string{
		base,
		strings.Replace(base, "name: a", "name: b", 1),
		strings.Replace(base, "name: a", "name: a, namespace: other", 1),
		strings.Replace(base, "image: x", "image: x, args: [z]", 1),
		strings.Replace(base, "name: a", "name: a, labels: {pod-template-hash: abc}", 1),
		strings.Replace(base, "image: x", "image: x, imagePullPolicy: Always", 1), // the default, but written
	} {
		set, err := Load(t.Context(), []string{"-"}, from(text))
		if err != nil {
			t.Fatal(err)
		}
		uid := string(set.Pods[0].UID)
		if other, taken := seen[uid]; taken {
			t.Errorf("one UID of\n%s\n%s", text, other)
		}
		seen[uid] = text
	}
	for what, text := range map[string]string{
		"the default namespace, written": strings.Replace(base, "name: a", "name: a, namespace: default", 1),
		"labels and annotations":         strings.Replace(base, "name: a", "name: a, labels: {a: b}, annotations: {c: d}", 1),
		"another generation":             strings.Replace(base, "name: a", "name: a, generation: 7", 1),
		"another image":                  strings.Replace(base, "image: x", "image: z", 1),
		"other resources":                strings.Replace(base, "image: x", "image: x, resources: {requests: {cpu: 1}}", 1),
		"a deadline":                     strings.Replace(base, "spec: {", "spec: {activeDeadlineSeconds: 5, ", 1),
		"a status":                       base + "\nstatus: {conditions: [{type: a.b/c, status: \"True\"}]}",
		"an empty status":                base + "\nstatus: {}",
		"a toleration":                   strings.Replace(base, "spec: {", "spec: {tolerations: [{operator: Exists}], ", 1),
	} {
		set, err := Load(t.Context(), []string{"-"}, from(text))
		if err != nil || seen[string(set.Pods[0].UID)] != base {
			t.Errorf("%s: another pod, %v", what, err)
		}
	}
}

// A document outlives the podctl that read it.
func TestDecodeSkipsValidation(t *testing.T) {
	p, err := Decode([]byte(`{"metadata":{"name":"A_B","uid":"u1","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"newField":1},"status":{"phase":"Failed"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "A_B" || p.UID != "u1" || p.Namespace != "default" || p.DeletionTimestamp != nil || p.Status.Phase != "Pending" || p.Spec.RestartPolicy != "Always" {
		t.Errorf("got %+v", p)
	}
	for _, bad := range []string{"", "x", "[]", `{"metadata":1}`, `{"spec":{"containers":{}}}`, "{}{}"} {
		if p, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q: decoded as %v", bad, p)
		}
	}
}

func TestExamplesAreHonoured(t *testing.T) {
	names, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(names) < 5 {
		t.Fatalf("examples: %v, %v", names, err)
	}
	set, err := Load(t.Context(), []string{"../../../examples"}, LoadOptions{})
	if err != nil || len(set.Warnings) > 0 || len(set.Pods) < len(names) {
		t.Errorf("%d pods of %d examples, warnings %v, %v", len(set.Pods), len(names), set.Warnings, err)
	}
	for _, p := range set.Pods {
		data, err := os.ReadFile(p.File)
		if err != nil || !strings.HasPrefix(string(data), "#") {
			t.Errorf("%s does not begin by saying what it shows (%v)", p.File, err)
		}
		for _, u := range p.Uses() {
			if u.Support != Honoured || u.Line == 0 {
				t.Errorf("%s:%d: %s is %s", p.File, u.Line, u.Path, u.Support)
			}
		}
	}
}
