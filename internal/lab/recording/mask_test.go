package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pod"
)

const (
	// planted is a secret that a variable has, mounted one that a volume has.
	planted, mounted = "pl4nted-S3cret", "from-a-volume-0815"
	document         = `{"metadata":{"name":"web"},"spec":{"terminationGracePeriodSeconds":30,"containers":[{"name":"app","args":["--login=` + planted + `"],"env":[{"name":"DB_PASSWORD","value":"` + planted + `"}]}]}}`
)

// secretive are answers with a secret wherever there is room for one. The variable that says what
// the secret is comes last.
func secretive(t *testing.T) []call {
	compressed, err := manifest.Compress([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	annotations := map[string]string{pod.ManifestAnnotation: compressed, "kubectl.kubernetes.io/last-applied-configuration": document, "hook": "curl -u a:" + planted, "note": mounted}
	info := func(v any) map[string]string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"info": string(text), "text": "no JSON " + planted, "number": "7"}
	}
	pem := "-----BEGIN RSA PRIVATE KEY-----\n" + planted + "\n"
	return []call{
		{name: "Version", response: (&runtimeapi.VersionResponse{RuntimeName: "sim"})},
		{name: "ListPodSandbox", response: (&runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{{
			Id: "sandbox-1", Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "uid-1"},
			Labels: map[string]string{"token": "label-" + "hunter2", "app": "web"}, Annotations: annotations,
		}}})},
		{name: "Status", response: (&runtimeapi.StatusResponse{Info: info(map[string]any{
			"registry": map[string]any{"configs": map[string]any{"r.test": map[string]any{"auth": map[string]any{"username": "u", "password": "pw-hunter2", "identitytoken": pem}}}, "headers": map[string]any{"X-Meta": []any{"header-hunter2"}}},
			"limit":    uint64(18446744073709551615),
		})})},
		{name: "ContainerStatus", request: (&runtimeapi.ContainerStatusRequest{ContainerId: "c1", Verbose: true}), response: (&runtimeapi.ContainerStatusResponse{
			Status: &runtimeapi.ContainerStatus{
				Id: "c1", Metadata: &runtimeapi.ContainerMetadata{Name: "app"}, Message: "login " + planted + " failed at https://u:hunter2@db/", Reason: planted, Annotations: annotations,
				Mounts: []*runtimeapi.Mount{{HostPath: "/srv/" + planted, ContainerPath: "/a"}}, LogPath: "/var/log/" + planted,
			},
			Info: info(map[string]any{
				"pid":         4711,
				"config":      map[string]any{"envs": []any{map[string]any{"key": "DB_PASSWORD", "value": planted}, map[string]any{"key": "HOST", "value": "db"}}, "annotations": annotations},
				"runtimeSpec": map[string]any{"process": map[string]any{"args": []any{"app", "--token", "arg-hunter2", planted}, "env": []any{"DB_PASSWORD=" + planted, "HOST=db"}}},
			}),
		})},
		{name: "ContainerStatus", request: (&runtimeapi.ContainerStatusRequest{ContainerId: "c2", Verbose: true}), err: status.Error(codes.Internal, "pull: Authorization: Bearer hunter2-0123456789 "+planted)},
	}
}

func encode(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := canonical(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// No secret is in a recording, wherever it stood; what is not secret is as it was.
func TestMaskEveryPlaceOfAnAnswer(t *testing.T) {
	w := NewWriter(Header{})
	for _, c := range secretive(t) {
		c.addTo(t, w)
	}
	var file bytes.Buffer
	count, err := w.Finish(&file, NewMask([][]byte{[]byte(mounted), []byte("default")}), time.Unix(1002, 0))
	if err != nil || count.Masked < 20 {
		t.Errorf("%+v, %v", count, err)
	}
	text := unzipped(t, file.Bytes())
	recorded := read(t, file.Bytes())
	for _, a := range recorded.answers {
		text += string(a.message) + fmt.Sprint(a.status)
	}
	_, client := served(t, file.Bytes())
	var list runtimeapi.ListPodSandboxResponse
	answer, err := recorded.Answer("ListPodSandbox", nil)
	if err == nil {
		err = proto.Unmarshal(answer, &list)
	}
	if err != nil || len(list.Items) != 1 {
		t.Fatal(&list, err)
	}
	if m := list.Items[0].Metadata; m.Name != "web" || m.Namespace != "default" || m.Uid != "uid-1" {
		t.Errorf("%v", m)
	}
	kept, err := manifest.Decompress(list.Items[0].Annotations[pod.ManifestAnnotation])
	if err != nil || !strings.Contains(string(kept), `"terminationGracePeriodSeconds":30`) || !strings.Contains(string(kept), `"name":"DB_PASSWORD"`) {
		t.Errorf("manifest %s, %v", kept, err)
	}
	text += string(kept)
	for _, secret := range []string{planted, mounted, "hunter2"} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%q is in the recording: %s", secret, text[max(0, i-200):i+20])
		}
	}
	process, err := client.ContainerProcess(t.Context(), "c1")
	if err != nil || process.PID != 4711 {
		t.Errorf("%+v, %v", process, err)
	}
	for _, open := range []string{"18446744073709551615", `\"HOST=***\"`, `\"username\":\"u\"`, `"containerPath":"/a"`, `"app":"web"`, "login *** failed"} {
		if !strings.Contains(text, open) {
			t.Errorf("%s is not in the recording", open)
		}
	}
}

// The value of a variable that comes from a Secret is masked wherever it stands, whatever the variable
// is called, and however early the manifest says so. Those of other pods and sources are not.
func TestVariablesFromSecretsAreSecret(t *testing.T) {
	const manifest = `{"metadata":{"name":"web"},"spec":{"containers":[
		{"name":"app","env":[{"name":"GREETING","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},{"name":"COLOR","valueFrom":{"configMapKeyRef":{"name":"c","key":"k"}}}]},
		{"name":"all","env":[{"name":"COLOR","value":"turquoise"}],"envFrom":[{"secretRef":{"name":"s"}}]}]}}`
	m := NewMask(nil)
	container := func(podName, name string, variables ...any) *line {
		text, err := json.Marshal(map[string]any{
			"status": map[string]any{"labels": map[string]any{pod.NamespaceLabel: "default", pod.NameLabel: podName, pod.ContainerNameLabel: name}},
			"info":   map[string]any{"info": map[string]any{"runtimeSpec": map[string]any{"process": map[string]any{"env": variables}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return &line{Answer: text}
	}
	said := &line{File: &File{Text: "greeted with 0815-hello-friend, then another-hello; swordfish0, turquoise, /usr/bin:/bin"}}
	for _, l := range []*line{
		container("web", "app", "GREETING=0815-hello-friend", "COLOR=turquoise"), container("other", "app", "GREETING=another-hello"),
		container("web", "all", "COLOR=turquoise", "FISH=swordfish0", "PATH=/usr/bin:/bin"), {Owners: json.RawMessage(`{"kubelet":{"pods":[` + manifest + `]}}`)}, said,
	} {
		if err := m.learn(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.apply(said); err != nil {
		t.Fatal(err)
	}
	if want := "greeted with ***, then another-hello; ***, turquoise, /usr/bin:/bin"; said.File.Text != want {
		t.Errorf("%s, want %s", said.File.Text, want)
	}
}
