package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func parsed(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestMaskHidesSecretsInTheFormsOfEachRuntime(t *testing.T) {
	answer := parsed(t, `{
		"status": {"annotations": {"podctl.io/manifest": "H4sI", "other": "x"}},
		"info": {
			"config": {"envs": [{"key": "DB_PASSWORD", "value": "hunter2"}, {"key": "HOST", "value": "db"}]},
			"runtimeSpec": {"process": {"env": ["API_TOKEN=abc", "PATH=/bin", "FROM_SECRET=s3", "PLAIN"]}}
		}
	}`)
	before := fmt.Sprint(answer)
	spec := &v1.Container{Env: []v1.EnvVar{{Name: "FROM_SECRET", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{}}}, {Name: "PATH", Value: "/bin"}}}
	want := parsed(t, `{
		"status": {"annotations": {"podctl.io/manifest": "(4 bytes: --show-secrets)", "other": "x"}},
		"info": {
			"config": {"envs": [{"key": "DB_PASSWORD", "value": "(masked: --show-secrets)"}, {"key": "HOST", "value": "db"}]},
			"runtimeSpec": {"process": {"env": ["API_TOKEN=(masked: --show-secrets)", "PATH=/bin", "FROM_SECRET=(masked: --show-secrets)", "PLAIN"]}}
		}
	}`)
	if diff := cmp.Diff(want, Mask(answer, SecretsOf(spec))); diff != "" {
		t.Error(diff)
	}
	if fmt.Sprint(answer) != before {
		t.Error("the answer itself was changed")
	}
}

// Arguments and hooks are expanded with variables: what is masked as one must not stand
// beside it.
func TestValueOfASecretIsMaskedWhereverItStands(t *testing.T) {
	answer := parsed(t, `{
		"status": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "hook": "curl -u admin:hunter22-long", "x": "abc"}},
		"info": {
			"config": {"args": ["--password=hunter22", "--level=abc"], "envs": [{"key": "PASSWORD", "value": "hunter22"}, {"key": "LONGER_PASSWORD", "value": "hunter22-long"}]},
			"runtimeSpec": {"process": {"args": ["sh", "-c", "login hunter22"], "env": ["PASSWORD=hunter22", "URL=http://u:hunter22@db", "SHORT_TOKEN=abc"]}}
		}
	}`)
	want := parsed(t, strings.NewReplacer("§", Masked).Replace(`{
		"status": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "(2 bytes: --show-secrets)", "hook": "curl -u admin:§", "x": "abc"}},
		"info": {
			"config": {"args": ["--password=§", "--level=abc"], "envs": [{"key": "PASSWORD", "value": "§"}, {"key": "LONGER_PASSWORD", "value": "§"}]},
			"runtimeSpec": {"process": {"args": ["sh", "-c", "login §"], "env": ["PASSWORD=§", "URL=http://u:§@db", "SHORT_TOKEN=§"]}}
		}
	}`))
	// The letter stands in the names of variables, too.
	if diff := cmp.Diff(want, Mask(answer, SecretsOf(nil))); diff != "" {
		t.Error(diff)
	}
}

// Which variables come of a whole Secret is not in the spec.
func TestVariablesOfAWholeSecretAreMasked(t *testing.T) {
	secret := SecretsOf(&v1.Container{
		Env:     []v1.EnvVar{{Name: "HOST", Value: "db"}},
		EnvFrom: []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{}}},
	})
	for name, want := range map[string]bool{"HOST": false, "ANY": true, "HOST_TOKEN": true} {
		if secret(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if SecretsOf(nil)("HOST") || !SecretsOf(nil)("GITHUB_TOKEN") {
		t.Error("without a spec only the name decides")
	}
}

func TestDiffNamesThePathsThatDiffer(t *testing.T) {
	before := parsed(t, `{"status": {"id": "a", "exitCode": 1, "labels": {"app/name": "x"}, "mounts": []}, "env": ["A=1", "B=2"], "args": ["x", "y"]}`)
	after := parsed(t, `{"status": {"id": "b", "exitCode": 1, "labels": {"app/name": "y"}}, "env": ["B=3", "A=1", "C=4"], "args": ["x"]}`)
	var lines []string
	for _, d := range Diff(before, after) {
		lines = append(lines, fmt.Sprintf("%s: %v → %v", d.Path, d.Old, d.New))
	}
	const want = `.args[1]: y → <nil>
.env[B]: 2 → 3
.env[C]: <nil> → 4
.status.id: a → b
.status.labels["app/name"]: x → y`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if d := Diff(before, before); len(d) > 0 {
		t.Error(d)
	}
}
