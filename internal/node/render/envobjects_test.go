package render

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// objects has a ConfigMap c and a Secret s in the namespace of aPod.
func objects() *pod.Objects {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	name := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: "shop", Name: name}
	}
	return &pod.Objects{
		ConfigMaps: map[types.NamespacedName]*v1.ConfigMap{name("c"): {
			ObjectMeta: meta("c"), Data: map[string]string{"B": "2", "A": "1", "a.b-c": "odd", "REF": "$(A)"}, BinaryData: map[string][]byte{"BIN": {1}},
		}},
		Secrets: map[types.NamespacedName]*v1.Secret{name("s"): {
			ObjectMeta: meta("s"), Data: map[string][]byte{"A": []byte("hidden"), "raw": {0xff, 0xfe}},
		}},
	}
}

// environ is the environment that the edited container gets.
func environ(edit func(*v1.Container)) ([]string, error) {
	p := aPod()
	c := &p.Spec.Containers[0]
	edit(c)
	cfg, err := Container(p, c, input(func(in *ContainerInput) { in.Objects = objects() }))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, kv := range cfg.Envs {
		all = append(all, kv.Key+"="+string(kv.Value))
	}
	return all, nil
}

func configMapRef(name string, optional bool) *v1.ConfigMapEnvSource {
	return &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: name}, Optional: &optional}
}

func secretRef(name string, optional bool) *v1.SecretEnvSource {
	return &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: name}, Optional: &optional}
}

func configMapVar(name, object, key string, optional bool) v1.EnvVar {
	return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{
		LocalObjectReference: v1.LocalObjectReference{Name: object}, Key: key, Optional: &optional,
	}}}
}

func secretVar(name, object, key string, optional bool) v1.EnvVar {
	return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{
		LocalObjectReference: v1.LocalObjectReference{Name: object}, Key: key, Optional: &optional,
	}}}
}

// envFrom comes before env, whose values may refer to it; of one name the
// last wins, and what a value from an object holds is not expanded.
func TestEnvFromComesFirstUnexpanded(t *testing.T) {
	got, err := environ(func(c *v1.Container) {
		c.EnvFrom = []v1.EnvFromSource{
			{ConfigMapRef: configMapRef("c", false)}, {Prefix: "S_", SecretRef: secretRef("s", false)}, {SecretRef: secretRef("s", false)},
		}
		c.Env = []v1.EnvVar{
			{Name: "SEES", Value: "$(S_A)/$(B)/$(REF)"}, {Name: "B", Value: "own"},
			configMapVar("ONE", "c", "REF", false), secretVar("TWO", "s", "A", false), {Name: "END", Value: "$(TWO)"},
		}
		c.Args = []string{"$(S_A)"}
	})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "env", []string{
		"A=hidden", "B=own", "REF=$(A)", "a.b-c=odd", "S_A=hidden", "S_raw=\xff\xfe", "raw=\xff\xfe",
		"SEES=hidden/2/$(A)", "ONE=$(A)", "TWO=hidden", "END=hidden",
	}, got)
}

func TestMissingOptionalObjects(t *testing.T) {
	got, err := environ(func(c *v1.Container) {
		c.EnvFrom = []v1.EnvFromSource{{ConfigMapRef: configMapRef("none", true)}, {SecretRef: secretRef("none", true)}}
		c.Env = []v1.EnvVar{
			{Name: "A", Value: "kept"}, configMapVar("A", "none", "x", true), configMapVar("A", "c", "none", true),
			secretVar("B", "none", "x", true), secretVar("B", "s", "none", true),
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "env", []string{"A=kept"}, got)
}

// The words and the reason are the kubelet's. Binary data are no variables.
func TestMissingObjectErrors(t *testing.T) {
	for want, edit := range map[string]func(*v1.Container){
		`configmap "none" not found`:                func(c *v1.Container) { c.EnvFrom = []v1.EnvFromSource{{ConfigMapRef: configMapRef("none", false)}} },
		`secret "none" not found`:                   func(c *v1.Container) { c.Env = []v1.EnvVar{secretVar("A", "none", "x", false)} },
		`couldn't find key BIN in ConfigMap shop/c`: func(c *v1.Container) { c.Env = []v1.EnvVar{configMapVar("A", "c", "BIN", false)} },
		`couldn't find key none in Secret shop/s`:   func(c *v1.Container) { c.Env = []v1.EnvVar{secretVar("A", "s", "none", false)} },
	} {
		_, err := environ(edit)
		var e *Error
		if !errors.As(err, &e) || e.Reason() != ReasonContainer || e.Unwrap().Error() != want {
			t.Errorf("got %v, want %q with reason %s", err, want, ReasonContainer)
		}
		if err != nil && strings.Contains(err.Error(), "hidden") {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
}

// A key that a file does not set, or sets to nothing, is missing.
func TestVariablesFromFiles(t *testing.T) {
	p := aPod()
	c := &p.Spec.Containers[0]
	yes := true
	fileVar := func(name, key string, optional *bool) v1.EnvVar {
		return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{VolumeName: "v", Path: "p", Key: key, Optional: optional}}}
	}
	in := input(func(in *ContainerInput) {
		in.EnvFile = func(ref *v1.FileKeySelector) (string, error) {
			if ref.Key == "broken" {
				return "", errors.New("couldn't parse env file")
			}
			return map[string]string{"K": "$(A)"}[ref.Key], nil
		}
	})
	c.Env = []v1.EnvVar{{Name: "A", Value: "a"}, fileVar("B", "K", nil), fileVar("C", "none", &yes)}
	cfg, err := Container(p, c, in)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Envs) != 2 || string(cfg.Envs[1].Value) != "$(A)" {
		t.Errorf("got %v", cfg.Envs)
	}
	for key, want := range map[string]string{"none": `environment variable key "none" not found in file "p"`, "broken": "couldn't parse env file"} {
		c.Env = []v1.EnvVar{fileVar("B", key, nil)}
		var e *Error
		if _, err := Container(p, c, in); !errors.As(err, &e) || e.Unwrap().Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := Container(p, c, input()); err == nil {
		t.Error("no error without files")
	}
}
