package secret

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

func TestAnswerMasksVariablesOfEachRuntime(t *testing.T) {
	tree := parsed(t, `{
		"status": {"annotations": {"podctl.io/manifest": "H4sI", "other": "x"}},
		"info": {
			"config": {"envs": [{"key": "DB_PASSWORD", "value": "hunter2"}, {"key": "HOST", "value": "db"}]},
			"runtimeSpec": {"process": {"env": ["API_TOKEN=abc", "PATH=/bin", "FROM_SECRET=s3", "PLAIN"]}}
		}
	}`)
	before := fmt.Sprint(tree)
	spec := &v1.Container{Env: []v1.EnvVar{{Name: "FROM_SECRET", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{}}}, {Name: "PATH", Value: "/bin"}}}
	want := parsed(t, `{
		"status": {"annotations": {"podctl.io/manifest": "***", "other": "x"}},
		"info": {
			"config": {"envs": [{"key": "DB_PASSWORD", "value": "***"}, {"key": "HOST", "value": "db"}]},
			"runtimeSpec": {"process": {"env": ["API_TOKEN=***", "PATH=/bin", "FROM_SECRET=***", "PLAIN"]}}
		}
	}`)
	if diff := cmp.Diff(want, answer(tree, NamesOf(spec))); diff != "" {
		t.Error(diff)
	}
	if fmt.Sprint(tree) != before {
		t.Error("the answer itself was changed")
	}
}

// Arguments and hooks are expanded with variables: what is masked as one must not stand
// beside it.
func TestAnswerMasksValuesInOtherFields(t *testing.T) {
	tree := parsed(t, `{
		"status": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "hook": "curl -u admin:hunter22-long", "x": "abc"}},
		"info": {
			"config": {"args": ["--password=hunter22", "--level=abc"], "envs": [{"key": "PASSWORD", "value": "hunter22"}, {"key": "LONGER_PASSWORD", "value": "hunter22-long"}]},
			"runtimeSpec": {"process": {"args": ["sh", "-c", "login hunter22"], "env": ["PASSWORD=hunter22", "URL=http://u:hunter22@db", "SHORT_TOKEN=abc"]}}
		}
	}`)
	want := parsed(t, strings.NewReplacer("§", Placeholder).Replace(`{
		"status": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "***", "hook": "curl -u admin:§", "x": "abc"}},
		"info": {
			"config": {"args": ["--password=§", "--level=abc"], "envs": [{"key": "PASSWORD", "value": "§"}, {"key": "LONGER_PASSWORD", "value": "§"}]},
			"runtimeSpec": {"process": {"args": ["sh", "-c", "login §"], "env": ["PASSWORD=§", "URL=http://u:§@db", "SHORT_TOKEN=§"]}}
		}
	}`))
	// The letter stands in the names of variables, too.
	if diff := cmp.Diff(want, answer(tree, NamesOf(nil))); diff != "" {
		t.Error(diff)
	}
}

// Which variables come of a whole Secret is not in the spec.
func TestNamesOfWholeSecret(t *testing.T) {
	secret := NamesOf(&v1.Container{
		Env:     []v1.EnvVar{{Name: "HOST", Value: "db"}},
		EnvFrom: []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{}}},
	})
	for name, want := range map[string]bool{"HOST": false, "ANY": true, "HOST_TOKEN": true} {
		if secret(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if NamesOf(nil)("HOST") || !NamesOf(nil)("GITHUB_TOKEN") {
		t.Error("without a spec only the name decides")
	}
}

func answer(tree any, secret Names) any {
	masked, _ := AnswerAndValues(tree, secret)
	return masked
}
