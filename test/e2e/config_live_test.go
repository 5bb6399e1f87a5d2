package e2e

import (
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	internalpod "github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/test/live"
)

// secretValue is what no output may hold.
const secretValue = "hunter2-hunter2"

const settings = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: green, LOG_LEVEL: debug}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: ` + secretValue + `}
---
`

// webDeployment writes its environment to /mark, and serves.
func (p *place) webDeployment() string {
	return `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 2
      volumes: [{name: mark, hostPath: {path: ` + p.path("mark") + `, type: Directory}}]
      containers:
      - name: c
        image: docker.io/library/busybox:latest
        imagePullPolicy: IfNotPresent
        volumeMounts: [{name: mark, mountPath: /mark}]
        envFrom: [{prefix: SET_, configMapRef: {name: settings}}, {secretRef: {name: none, optional: true}}]
        env:
        - {name: COLOR, valueFrom: {configMapKeyRef: {name: settings, key: color}}}
        - {name: PASSWORD, valueFrom: {secretKeyRef: {name: login, key: password}}}
        - {name: BOTH, value: $(COLOR)/$(PASSWORD)}
        command: [sh, -c, 'env > /mark/env.$HOSTNAME; echo $HOSTNAME >> /mark/service; ` + strings.ReplaceAll(server, "'", "''") + `']
`
}

func TestDeploymentWithItsConfigMapAndSecret(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt).proxied()
		proc := p.start(settings+p.webDeployment(), "--replicas", "2", "-v", "-o", "json", "-")
		p.gets(2)
		pods := p.marks("service")
		if pods[0] == pods[1] || !strings.HasPrefix(pods[0], "web-") {
			t.Errorf("pods %q", pods)
		}
		for _, name := range pods {
			env := p.marks("env." + name)
			for _, want := range []string{"SET_color=green", "SET_LOG_LEVEL=debug", "COLOR=green", "PASSWORD=" + secretValue, "BOTH=green/" + secretValue} {
				if !slices.Contains(env, want) {
					t.Errorf("%s: the container has no %s", name, want)
				}
			}
		}
		proc.signal(syscall.SIGINT)
		if code := proc.wait(); code != 130 {
			t.Errorf("exit %d", code)
		}
		out, errw := proc.output()
		if strings.Contains(out+errw, secretValue) {
			t.Errorf("podctl tells the secret:\n%s%s", out, errw)
		}
		p.keepsSecret()
	})
}

// keepsSecret asserts that the runtime's requests hold the secret in the variables
// of containers only.
func (p *place) keepsSecret() {
	p.t.Helper()
	sandboxes, containers := 0, 0
	for _, c := range p.proxy.Calls() {
		text := ""
		switch c.Method {
		case "RunPodSandbox":
			sandboxes++
			req := &runtimeapi.RunPodSandboxRequest{}
			p.decode(c.Request, req)
			document, err := manifest.Decompress(req.Config.Annotations[internalpod.ManifestAnnotation])
			if err != nil {
				p.t.Error(err)
			}
			text = req.String() + string(document)
		case "CreateContainer":
			containers++
			req := &runtimeapi.CreateContainerRequest{}
			p.decode(c.Request, req)
			text = fmt.Sprint(req.Config.Annotations, req.Config.Labels, req.SandboxConfig)
		}
		if strings.Contains(text, secretValue) {
			p.t.Errorf("%s holds the secret: %s", c.Method, text)
		}
	}
	if sandboxes == 0 || containers == 0 {
		p.t.Errorf("the proxy saw %d sandboxes and %d containers", sandboxes, containers)
	}
}

func (p *place) decode(data []byte, into proto.Message) {
	p.t.Helper()
	if err := proto.Unmarshal(data, into); err != nil {
		p.t.Fatal(err)
	}
}

// An init container leaves a file of variables for those after it.
func TestFileKeyRefOfInitContainer(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		init := "initContainers:\n" + container("i", `printf "# made\nTOKEN='a  b'\n" > /shared/env`)
		yaml := pod("job", `echo "token=$TOKEN"`, never, "volumes: [{name: shared, emptyDir: {}}]", init)
		yaml = strings.Replace(yaml, "command:", "volumeMounts: [{name: shared, mountPath: /shared}]\n    command:", 1)
		i := strings.LastIndex(yaml, "command:")
		yaml = yaml[:i] + "env: [{name: TOKEN, valueFrom: {fileKeyRef: {volumeName: shared, path: env, key: TOKEN}}}]\n    " + yaml[i:]
		out, errw, code := at(t, rt).run(yaml, "--logs", "-")
		if code != 0 || !strings.Contains(out, "default/job/c | token=a  b\n") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
}

// A registry that requires a password gets that of the pod's pull secret, which may
// be in another file; without it the pull fails.
func TestImagePullSecrets(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		registry := live.Registry(t, "team/app:1")
		registry.RequirePassword("puller", secretValue)
		place := at(t, rt)
		host, _, err := net.SplitHostPort(registry.Addr)
		if err != nil {
			t.Fatal(err)
		}
		auth := base64.StdEncoding.EncodeToString([]byte("puller:" + secretValue))
		wrong := base64.StdEncoding.EncodeToString([]byte("puller:wrong"))
		config := place.path("config.yaml")
		text := fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: pull}
type: kubernetes.io/dockerconfigjson
stringData:
  .dockerconfigjson: '{"auths": {"%s": {"auth": "%s"}, "%s/team": {"auth": "%s"}, "%s": {"auth": "%s"}}}'
`, host, wrong, registry.Addr, wrong, registry.Addr, auth)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		job := func(name string, more ...string) string {
			yaml := strings.Replace(pod(name, "true", append(more, never)...), "docker.io/library/busybox:latest", registry.Image("team/app:1"), 1)
			return strings.Replace(yaml, "IfNotPresent", "Always", 1)
		}
		secrets := "imagePullSecrets: [{name: pull}]"

		out, errw, code := place.run(job("with", secrets), "--config-from", config, "-v", "-")
		if code != 0 {
			t.Errorf("with the secret: exit %d\n%s%s", code, out, errw)
		}
		if text := out + errw; strings.Contains(text, secretValue) || strings.Contains(text, auth) {
			t.Errorf("podctl tells the password:\n%s", text)
		}
		for name, why := range map[string]struct {
			manifest string
			flags    []string
			want     string
		}{
			"without the secret": {job("without"), []string{"--config-from", config}, "ErrImagePull"},
			"with a missing one": {job("missing", secrets), nil, "FailedToRetrieveImagePullSecret"},
		} {
			proc := place.start(why.manifest, append(why.flags, "-o", "json", "-")...)
			proc.prints(`"` + why.want + `"`)
			proc.signal(syscall.SIGINT)
			if code := proc.wait(); code != 130 {
				out, errw := proc.output()
				t.Errorf("%s: exit %d\n%s%s", name, code, out, errw)
			}
		}
	})
}
