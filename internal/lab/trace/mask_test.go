package trace

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// canary is in each place of a message that may hold a secret.
const (
	canary   = "c4n4ry-value"
	canary64 = "YzRuNHJ5LXZhbHVl"
)

// secretCalls are calls that hold the canary, by the place that it is in.
var secretCalls = map[string]testCall{
	"environment variable": {method: runtimeService + "CreateContainer", request: &runtimeapi.CreateContainerRequest{
		Config: &runtimeapi.ContainerConfig{Envs: []*runtimeapi.KeyValue{{Key: "GREETING", Value: []byte(canary)}}},
	}},
	"environment variable expanded in arguments": {method: runtimeService + "CreateContainer", request: &runtimeapi.CreateContainerRequest{
		Config: &runtimeapi.ContainerConfig{
			Envs: []*runtimeapi.KeyValue{{Key: "DB", Value: []byte(canary)}}, Command: []string{"run", "--db=" + canary}, Args: []string{canary},
		},
	}},
	"environment variable of a name in any field": {method: runtimeService + "CreateContainer", request: &runtimeapi.CreateContainerRequest{
		Config: &runtimeapi.ContainerConfig{Envs: []*runtimeapi.KeyValue{{Key: "TOKEN", Value: []byte(canary)}}, WorkingDir: "/" + canary},
	}},
	"manifest in an annotation": {method: runtimeService + "RunPodSandbox", request: &runtimeapi.RunPodSandboxRequest{
		Config: &runtimeapi.PodSandboxConfig{Annotations: map[string]string{pod.ManifestAnnotation: canary, "kubectl.kubernetes.io/last-applied-configuration": canary}},
	}},
	"manifest in the annotation of a list": {method: runtimeService + "ListPodSandbox", response: &runtimeapi.ListPodSandboxResponse{
		Items: []*runtimeapi.PodSandbox{{Id: "s", Annotations: map[string]string{pod.ManifestAnnotation: canary}}},
	}},
	"registry credentials": {method: imageService + "PullImage", request: &runtimeapi.PullImageRequest{
		Auth: &runtimeapi.AuthConfig{Username: "me", Password: canary, Auth: canary, IdentityToken: canary, RegistryToken: canary},
	}},
	"arguments of exec": {method: runtimeService + "ExecSync", request: &runtimeapi.ExecSyncRequest{Cmd: []string{"mysql", "-p" + canary}}},
	"arguments of a streamed exec": {
		method: runtimeService + "Exec", request: &runtimeapi.ExecRequest{Cmd: []string{"mysql", canary}, Stdout: true},
	},
	"output of exec": {
		method: runtimeService + "ExecSync", request: &runtimeapi.ExecSyncRequest{Cmd: []string{"env"}},
		response: &runtimeapi.ExecSyncResponse{Stdout: []byte(canary), Stderr: []byte(canary)},
	},
	"URL of a stream": {method: runtimeService + "Attach", response: &runtimeapi.AttachResponse{Url: "http://127.0.0.1:1/attach/" + canary}},
	"error that repeats arguments": {
		method: runtimeService + "ExecSync", request: &runtimeapi.ExecSyncRequest{Cmd: []string{"sh", "-c", canary}},
		code: codes.Unknown, status: "exec: " + canary + ": not found",
	},
	"verbose status with bytes": {method: runtimeService + "ContainerStatus", response: &runtimeapi.ContainerStatusResponse{
		Info: map[string]string{"info": `{"config":{"args":["` + canary + `"],"envs":[{"key":"DB","value":"` + canary64 + `"}]}}`},
	}},
	"verbose status": {method: runtimeService + "ContainerStatus", response: &runtimeapi.ContainerStatusResponse{
		Status: &runtimeapi.ContainerStatus{Id: "c"},
		Info: map[string]string{"info": `{"runtimeSpec":{"process":{"args":["x","` + canary + `"],"env":["DB=` + canary + `"]}},
			"config":{"envs":[{"key":"DB","value":"` + canary + `"}]}}`},
	}},
	"error that repeats a variable": {
		method: runtimeService + "CreateContainer", code: codes.Unknown, status: "invalid environment variable: DB=" + canary,
		request: &runtimeapi.CreateContainerRequest{Config: &runtimeapi.ContainerConfig{Envs: []*runtimeapi.KeyValue{{Key: "DB", Value: []byte(canary)}}}},
	},
	"headers for registries": {method: runtimeService + "Status", response: &runtimeapi.StatusResponse{
		Info: map[string]string{"config": `{"registry":{"headers":{"Private-Token":["` + canary + `"]}}}`},
	}},
	"password in a URL": {method: runtimeService + "Status", response: &runtimeapi.StatusResponse{
		Info: map[string]string{"config": `{"registry":{"mirrors":{"r":{"endpoint":["https://me:` + canary + `@r.example"]}}}}`},
	}},
	"verbose status of the runtime": {method: runtimeService + "Status", response: &runtimeapi.StatusResponse{
		Info: map[string]string{"config": `{"registry":{"configs":{"r":{"auth":{"password":"` + canary + `","identitytoken":"` + canary + `"}}}}}`},
	}},
}

func TestSecretsAreShownOnlyOnRequest(t *testing.T) {
	for name, call := range secretCalls {
		t.Run(name, func(t *testing.T) {
			e := add(t, &Tracer{}, call)
			if text := everything(t, e); strings.Contains(text, canary[:6]) || strings.Contains(text, canary64[:6]) {
				t.Errorf("a secret is shown: %s", text)
			}
			e = add(t, &Tracer{Secrets: true}, call)
			if text := everything(t, e); !strings.Contains(text, canary) && !strings.Contains(text, canary64) {
				t.Errorf("it is not shown on request: %s", text)
			}
		})
	}
}

// everything is all that is printed of an entry, in any format.
func everything(t *testing.T, e *Entry) string {
	t.Helper()
	text, err := json.Marshal([]any{e.Data(), e.Result(), e.Target.String()})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWhatIsNoSecretIsShown(t *testing.T) {
	e := add(t, &Tracer{}, testCall{method: runtimeService + "CreateContainer", request: &runtimeapi.CreateContainerRequest{
		PodSandboxId: "sandbox",
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "web"}, Args: []string{"--port", "8080"}, Labels: map[string]string{"app": "shop"},
			Envs: []*runtimeapi.KeyValue{{Key: "POD_NAME", Value: []byte("shop")}}, Stdin: true,
		},
	}})
	text := everything(t, e)
	for _, want := range []string{`"podSandboxId":"sandbox"`, `"args":["--port","8080"]`, `"labels":{"app":"shop"}`, `"key":"POD_NAME"`, `"stdin":true`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing: %s", want, text)
		}
	}
	exec := add(t, &Tracer{}, testCall{method: runtimeService + "Exec", request: &runtimeapi.ExecRequest{Cmd: []string{"sh", "-c", "x"}, Stdout: true}})
	if text := everything(t, exec); !strings.Contains(text, `"stdout":true`) || !strings.Contains(text, "sh …") {
		t.Error(text)
	}
}
