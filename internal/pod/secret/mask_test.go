package secret

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// The values are as large as the Secrets, however often the manifest refers to them.
func TestValuesReadsEachKeyOnce(t *testing.T) {
	of := v1.LocalObjectReference{Name: "s"}
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
	for range 3 {
		c := v1.Container{EnvFrom: []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: of}}}}
		for range 100 {
			c.Env = append(c.Env, v1.EnvVar{ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: of, Key: "a"}}})
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	objects := &pod.Objects{Secrets: map[types.NamespacedName]*v1.Secret{
		{Namespace: "default", Name: "s"}: {Data: map[string][]byte{"a": []byte("x"), "b": []byte("y")}},
	}}
	var got []string
	for _, v := range Values(p, objects) {
		got = append(got, string(v))
	}
	slices.Sort(got)
	if got := strings.Join(got, " "); got != "x x y" {
		t.Errorf("values %.40s", got)
	}
}

// A Secret of a hundred thousand lines beside an argument of several megabytes, and
// texts that nearly have each of the lines, take seconds and not hours.
func TestMaskLargeSecretInBoundedTime(t *testing.T) {
	var value strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&value, "aaaaaaa%d\n", i)
	}
	manifest := []byte(strings.Repeat("aaaaaaaaaaab", 1<<19) + "aaaaaaa77777")
	m := (*Mask)(nil).With([][]byte{[]byte(value.String())}, func() []byte { return manifest })
	text := strings.Repeat("a", 1<<16)
	if got := m.Text(text + "99999 " + text + "88888 " + text + "77777 " + text); got != text[7:]+Placeholder+" "+text[7:]+Placeholder+" "+text+"77777 "+text {
		t.Errorf("%.100s…", strings.ReplaceAll(got, "aaaaaaaa", ""))
	}
}

// FuzzMaskCoversEachForm compares the forms that are found with maskSlowly.
func FuzzMaskCoversEachForm(f *testing.F) {
	f.Add("aaab,aabc,baaa", "xabaaabcab")
	f.Add("aaaa,aaaab,abab,bbbb", "aaaaababba")
	f.Fuzz(func(t *testing.T, list, text string) {
		all := map[string]bool{}
		for form := range strings.SplitSeq(list, ",") {
			if len(form) >= minForm && len(form) <= maxForm {
				all[form] = true
			}
		}
		m := forms{}.with(all)
		if got, want := replaceSpans(text, m.in(text)), maskSlowly(all, text); got != want {
			t.Errorf("forms %q in %q: %q, want %q", list, text, got, want)
		}
	})
}

// maskSlowly looks for each form at each byte.
func maskSlowly(forms map[string]bool, text string) string {
	covered := make([]bool, len(text))
	for form := range forms {
		for from := range len(text) {
			if strings.HasPrefix(text[from:], form) {
				for i := range form {
					covered[from+i] = true
				}
			}
		}
	}
	var out strings.Builder
	for i := range len(text) {
		switch {
		case !covered[i]:
			out.WriteByte(text[i])
		case i == 0 || !covered[i-1]:
			out.WriteString(Placeholder)
		}
	}
	return out.String()
}

func TestWithKeepsEarlierValues(t *testing.T) {
	open := func() []byte { return []byte("image: nginx:1.27") }
	first := (*Mask)(nil).With([][]byte{[]byte("hunter22"), []byte("nginx:1.27"), []byte("short"), []byte("      ")}, open)
	if again := first.With([][]byte{[]byte("hunter22"), []byte("nginx:1.27")}, nil); again != first {
		t.Error("known values make a new mask")
	}
	second := first.With([][]byte{[]byte("changed-it")}, open)
	const text = "hunter22, changed-it, nginx:1.27, short,       ."
	if got, want := first.Text(text), "***, changed-it, nginx:1.27, short,       ."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := second.Text(text), "***, ***, nginx:1.27, short,       ."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// BenchmarkLargeSecret: a Secret of 1 MiB with many lines, beside a manifest of 9 MiB.
func BenchmarkLargeSecret(b *testing.B) {
	var value strings.Builder
	for i := 0; value.Len() < 1<<20; i++ {
		fmt.Fprintf(&value, "aaaaaaa%d\n", i)
	}
	manifest := []byte(strings.Repeat("aaaaaaaaaaab", 9<<20/12))
	build := func() *Mask {
		return (*Mask)(nil).With([][]byte{[]byte(value.String())}, func() []byte { return manifest })
	}
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			build()
		}
	})
	m := build()
	text := strings.Repeat("a", 1<<16) + "99999 " + strings.Repeat("x y ", 1<<18)
	b.Run("text", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			m.Text(text)
		}
	})
}
