package podsync

import (
	"fmt"
	"index/suffixarray"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// The values are as large as the Secrets, however often the manifest refers to them.
func TestASecretIsReadOnceHoweverOftenItIsReferredTo(t *testing.T) {
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
	for _, v := range secretValues(p, objects) {
		got = append(got, string(v))
	}
	slices.Sort(got)
	if got := strings.Join(got, " "); got != "x x y" {
		t.Errorf("values %.40s", got)
	}
}

// A Secret of a hundred thousand lines beside an argument of several megabytes, and
// texts that nearly have each of the lines, take seconds and not hours.
func TestLinesOfALargeSecretAreMasked(t *testing.T) {
	var value strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&value, "aaaaaaa%d\n", i)
	}
	manifest := suffixarray.New([]byte(strings.Repeat("aaaaaaaaaaab", 1<<19) + "aaaaaaa77777"))
	m := newMask(map[string]bool{value.String(): true}, manifest)
	text := strings.Repeat("a", 1<<16)
	if got := m.text(text + "99999 " + text + "88888 " + text + "77777 " + text); got != text[7:]+maskText+" "+text[7:]+maskText+" "+text+"77777 "+text {
		t.Errorf("%.100s…", strings.ReplaceAll(got, "aaaaaaaa", ""))
	}
}

// FuzzMaskCoversEachForm: what is covered is where a form is.
func FuzzMaskCoversEachForm(f *testing.F) {
	f.Add("ab,abc,b", "xabcab")
	f.Add("a,ab,abab,bb", "ababba")
	f.Fuzz(func(t *testing.T, list, text string) {
		forms := map[string]bool{}
		for form := range strings.SplitSeq(list, ",") {
			if form != "" {
				forms[form] = true
			}
		}
		covered := make([]bool, len(text)+1)
		for form := range forms {
			for from := range text {
				if strings.HasPrefix(text[from:], form) {
					for i := range form {
						covered[from+i] = true
					}
				}
			}
		}
		got := make([]bool, len(text)+1)
		for _, part := range maskOfForms(slices.Sorted(maps.Keys(forms))).spans(text, false) {
			for i := part.from; i < part.to; i++ {
				got[i] = true
			}
		}
		if !slices.Equal(got, covered) {
			t.Errorf("forms %q in %q: covered %v, not %v", list, text, got, covered)
		}
	})
}
