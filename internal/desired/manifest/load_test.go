package manifest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/podctl/podctl/internal/sys/hint"
)

func TestLineOf(t *testing.T) {
	set, err := Load(t.Context(), []string{"-"}, from(`apiVersion: v1
kind: Pod
metadata:
  name: web
  labels:
    a.b/c: x
    "8080": z
spec:
  containers:
  - name: a
    image: x
    resources:
      limits: {cpu: 1,
        memory: 1Mi}

  - name: b
    image: x
    command:
    - sh
    - -c
`))
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]int{
		"": 1, "kind": 2, "metadata": 3, "metadata.name": 4, "metadata.namespace": 3,
		"metadata.labels[a.b/c]": 6, "metadata.labels[8080]": 7, "metadata.labels[none]": 5,
		"spec.containers[0]": 10, "spec.containers[0].image": 11, "spec.containers[0].resources.limits[memory]": 14,
		"spec.containers[0].env[3].name": 10, "spec.containers[1].command[1]": 20, "spec.containers[2]": 9, "nothing.at.all": 1,
	} {
		if got := set.Pods[0].LineOf(field); got != want {
			t.Errorf("%q: line %d, want %d", field, got, want)
		}
	}
	if got := (&Pod{}).LineOf("spec"); got != 0 {
		t.Errorf("of a pod that was not loaded: %d", got)
	}
}

func TestUses(t *testing.T) {
	set, err := Load(t.Context(), []string{"-"}, from(`apiVersion: v1
kind: Pod
metadata: {name: web, creationTimestamp: null}
spec:
  tolerations: []
  schedulerName: x
  volumes: [{name: v, emptyDir: {}}]
  containers: [{name: a, image: x, resources: {limits: {cpu: 1}}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range set.Pods[0].Uses() {
		got = append(got, u.Path+" "+u.Support.String())
	}
	want := []string{"apiVersion honoured", "kind honoured", "metadata.name honoured", "spec.schedulerName ignored",
		"spec.volumes[0].emptyDir honoured", "spec.volumes[0].name honoured",
		"spec.containers[0].image honoured", "spec.containers[0].name honoured", "spec.containers[0].resources.limits[cpu] honoured"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPathsReadBack(t *testing.T) {
	for _, text := range []string{"", "a", "spec.containers[0].env[12].name", "metadata.labels[a.b/c]", "spec.containers[].x", "a[b][0]"} {
		if got := parsePath(text).String(); got != text {
			t.Errorf("%q read back as %q", text, got)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"name", "name", 0}, {"iamge", "image", 1}, {"image", "images", 1}, {"comand", "command", 1}, {"abc", "xyz", 3}, {"iamges", "image", 2}, {"Pdo", "Pod", 1}, {"nodNeaem", "nodeName", 2}} {
		if got := distance(c.a, c.b); got != c.want || distance(c.b, c.a) != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestCompressTooLarge(t *testing.T) {
	noise := make([]byte, 64<<10)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(r.Uint32())
	}
	if _, err := Compress(noise); err == nil || !strings.HasSuffix(err.Error(), " bytes compressed, of at most 65536") || hint.Of(err) == "" {
		t.Errorf("64 KiB of noise: %v", err)
	}
	if text, err := Compress(noise[:45<<10]); err != nil || len(text) > maxCompressed {
		t.Errorf("45 KiB of noise: %d bytes, %v", len(text), err)
	}
	if _, err := Compress(make([]byte, maxDocument+1)); err == nil || strings.Contains(err.Error(), "compressed") {
		t.Errorf("too long a document: %v", err)
	}
}

func TestDecompressIsBounded(t *testing.T) {
	var bomb bytes.Buffer
	zipper := gzip.NewWriter(&bomb)
	if _, err := zipper.Write(make([]byte, maxDocument+1)); err != nil {
		t.Fatal(err)
	}
	if err := zipper.Close(); err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(bomb.Bytes())
	for name, annotation := range map[string]string{"a bomb": text, "half of it": text[:len(text)/2], "no base64": "!", "no gzip": "aaaa", "nothing": "", "too long": strings.Repeat("a", maxCompressed+1)} {
		if document, err := Decompress(annotation); err == nil {
			t.Errorf("%s: %d bytes", name, len(document))
		}
	}
}

func TestTooLargePodProblem(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	for range 80 << 10 {
		text.WriteByte(byte('a' + random.IntN(26)))
	}
	_, err := Load(t.Context(), []string{"-"}, from(strings.Replace(podNamed("big"), "image: x", "image: x, args: ["+text.String()+"]", 1)))
	if err == nil || !strings.Contains(err.Error(), "of at most 65536\n  hint: ") {
		t.Errorf("got %.200v", err)
	}
	if !strings.Contains(hint.Of(err), "into a ConfigMap") {
		t.Error("the cause is lost")
	}
}

// FuzzLoad: no input makes Load panic, and whatever it accepts, Decode
// accepts and understands alike.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{podNamed("a"), "", "---\n", "{", "{}", "[[[", "a: &a [*a]", "<<: {a: b}", "? x\n: y", "%YAML 1.1\n---\n", "\ufeff{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[1,null,{}]}",
		aStatefulSet, aDeployment("a", "x"), aJob("b", "x"), "apiVersion: v1\nkind: Pod\nmetadata: &m\n  name: a\n  <<: *m\nspec:\n  containers: [{<<: [{a: b}]}]\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Load(t.Context(), []string{"-"}, LoadOptions{Stdin: bytes.NewReader(data)})
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		for _, p := range set.Pods {
			again, err := Decode(p.Document)
			if err != nil {
				t.Fatalf("decode what was loaded: %v", err)
			}
			if diff := cmp.Diff(p.Pod, again); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
