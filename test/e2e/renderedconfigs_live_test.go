package e2e

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
)

// full is a pod that touches every part of both configs.
const full = `
apiVersion: v1
kind: Pod
metadata: {name: full, labels: {app: full}, annotations: {why: "a test: it is"}}
spec:
  hostname: elsewhere
  securityContext: {runAsUser: 1000, supplementalGroups: [3000]}
  containers:
  - name: c
    image: docker.io/library/busybox:latest
    command: [sh, -c]
    args: ['echo "$(id -u) $(hostname) $WHO $(cat /host/fact)"; test -d /data && echo mounted']
    env: [{name: WHO, value: "me: 5"}]
    ports: [{containerPort: 80}]
    resources: {requests: {cpu: 100m}, limits: {memory: 64Mi}}
    securityContext: {capabilities: {drop: [ALL]}, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false}
    volumeMounts:
    - {name: data, mountPath: /data}
    - {name: host, mountPath: /host, readOnly: true}
  volumes:
  - {name: data, emptyDir: {}}
  - {name: host, hostPath: {path: HOSTDIR}}
`

// TestRenderedConfigsRunUnchanged makes a pod of nothing but what podctl
// render prints, in the way of crictl runp, create and start: it decodes the
// files as crictl does (sigs.k8s.io/yaml into the CRI's types) and fills in
// nothing. crictl itself cannot be had from the Go module proxy.
func TestRenderedConfigsRunUnchanged(t *testing.T) {
	for _, format := range []string{"yaml", "json"} {
		t.Run(format, func(t *testing.T) {
			rt := live.Runtime(t, live.Containerd)
			p := at(t, rt)
			host := t.TempDir()
			writeAll(t, filepath.Join(host, "fact"), "from the host")
			manifest := filepath.Join(host, "full.yaml")
			writeAll(t, manifest, strings.Replace(full, "HOSTDIR", host, 1))

			sandbox, container := &runtimeapi.PodSandboxConfig{}, &runtimeapi.ContainerConfig{}
			p.render(sandbox, "-o", format, "--sandbox", manifest)
			p.render(container, "-o", format, "--container", "c", manifest)
			if container.Image.GetImage() == "" || container.Metadata.GetName() == "" || sandbox.Metadata.GetUid() == "" {
				t.Fatal("crictl wants the names of image, container and pod")
			}
			log := p.runAsCrictl(sandbox, container)
			for _, want := range []string{" stdout F 1000 elsewhere me: 5 from the host\n", " stdout F mounted\n"} {
				if !strings.Contains(log, want) {
					t.Errorf("the log has no %q:\n%s", want, log)
				}
			}
		})
	}
}

// render decodes what `podctl render` prints, strictly: a field that crictl
// would not know is an error here.
func (p *place) render(into any, args ...string) {
	p.t.Helper()
	all := append([]string{
		"render", "--root", filepath.Join(p.dir, "root"), "--log-dir", filepath.Join(p.dir, "logs"), "--cgroup-root", p.rt.CgroupRoot(),
	}, args...)
	cmd := exec.Command(binary, all...)
	var errw bytes.Buffer
	cmd.Stderr = &errw
	out, err := cmd.Output()
	if err != nil || errw.Len() > 0 {
		p.t.Fatalf("podctl %s: %v\n%s", strings.Join(all, " "), err, errw.String())
	}
	if err := yaml.UnmarshalStrict(out, into); err != nil {
		p.t.Fatalf("decode as crictl does: %v\n%s", err, out)
	}
}

// runAsCrictl runs the container to its end, removes all and returns its log.
func (p *place) runAsCrictl(sandbox *runtimeapi.PodSandboxConfig, container *runtimeapi.ContainerConfig) string {
	p.t.Helper()
	ctx := p.t.Context()
	c, err := bare.Dial(p.rt.Endpoint)
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	pod := &bare.Pod{}
	runp, err := c.Runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: sandbox})
	if err != nil {
		p.t.Fatalf("runp: %v", err)
	}
	pod.SandboxID = runp.PodSandboxId
	defer func() {
		ctx := context.WithoutCancel(ctx)
		if err := c.End(ctx, pod); err != nil {
			p.t.Error(err)
		}
		p.removeWhatCrictlLeaves()
	}()
	create, err := c.Runtime.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: pod.SandboxID, Config: container, SandboxConfig: sandbox,
	})
	if err != nil {
		p.t.Fatalf("create: %v", err)
	}
	pod.ContainerID = create.ContainerId
	if _, err := c.Runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: pod.ContainerID}); err != nil {
		p.t.Fatalf("start: %v", err)
	}
	if err := c.WaitExited(ctx, pod); err != nil {
		p.t.Fatal(err)
	}
	status, err := c.Status(ctx, pod)
	if err != nil || status.ExitCode != 0 {
		p.t.Errorf("status %v, %v", status, err)
	}
	log, err := os.ReadFile(filepath.Join(sandbox.LogDirectory, container.LogPath))
	if err != nil {
		p.t.Error(err)
	}
	return string(log)
}

// removeWhatCrictlLeaves removes what a kubelet, or podctl run, would have
// made and removed: the pod's cgroups and directories.
func (p *place) removeWhatCrictlLeaves() {
	p.t.Helper()
	var groups []string
	for _, root := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		found, _ := filepath.Glob(root + p.rt.CgroupRoot())
		for _, top := range found {
			_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					groups = append(groups, path)
				}
				return nil
			})
		}
	}
	slices.Reverse(groups) // children first
	for _, dir := range groups {
		if err := os.Remove(dir); err != nil {
			p.t.Error(err)
		}
	}
	for _, dir := range []string{"root/pods", "logs"} {
		entries, _ := os.ReadDir(filepath.Join(p.dir, dir))
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(p.dir, dir, e.Name())); err != nil {
				p.t.Error(err)
			}
		}
	}
}

func writeAll(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
