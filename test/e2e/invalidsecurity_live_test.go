package e2e

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/image"
)

// imageOf puts an image into the registry whose user is the given one, and in
// which www-data belongs to group 77, too.
func imageOf(t *testing.T, registry *live.ImageRegistry, ref, user string) string {
	t.Helper()
	const group = "root:x:0:\nwww-data:x:33:\napp:x:77:www-data\n"
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	err := w.WriteHeader(&tar.Header{Name: "etc/group", Mode: 0o644, Size: int64(len(group))})
	if err == nil {
		_, err = io.WriteString(w, group)
	}
	if err == nil {
		err = w.Close()
	}
	img, imgErr := image.Busybox()
	added, layerErr := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
	if err != nil || imgErr != nil || layerErr != nil {
		t.Fatal(err, imgErr, layerErr)
	}
	full := registry.Image(ref)
	parsed, err := name.ParseReference(full)
	if err == nil {
		img, err = mutate.AppendLayers(img, added)
	}
	var file *v1.ConfigFile
	if err == nil {
		file, err = img.ConfigFile()
	}
	if err == nil {
		config := file.Config
		config.User = user
		img, err = mutate.Config(img, config)
	}
	if err == nil {
		err = remote.Write(parsed, img, remote.WithContext(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// run prints the kubelet's reason for each bad input. What is rejected for good does
// not keep other pods from running, and what may be corrected is retried until it
// is.
func TestInvalidSecuritySettingsAreReportedAndRetried(t *testing.T) {
	live.EachOf(t, []string{live.Containerd}, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		profiles := p.path("root/seccomp")
		t.Cleanup(func() { os.RemoveAll(profiles) })
		registry := live.Registry(t)
		named := imageOf(t, registry, "named:1", "www-data")
		pods := []seen{
			{name: "late", container: `securityContext: {seccompProfile: {type: Localhost, localhostProfile: late.json}}`,
				sees: []see{{`echo it runs`, `it runs`}}},
			{name: "rooted", container: `securityContext: {runAsNonRoot: true}`},
			{name: "long", spec: "hostname: " + strings.Repeat("h", 50) + "\nsubdomain: " + strings.Repeat("s", 20) + "\nsetHostnameAsFQDN: true"},
			{name: "tuned", spec: `securityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}`},
		}
		yaml := strings.Replace(seen{name: "named", container: `securityContext: {runAsNonRoot: true}`}.manifest(),
			"docker.io/library/busybox:latest", named, 1)
		for _, s := range pods {
			yaml += s.manifest()
		}
		run := p.start(yaml, "--logs", "-")
		for _, want := range []string{
			"c: CreateContainerError: ",
			"late.json",
			"c: CreateContainerConfigError: container has runAsNonRoot and image will run as root (pod: \"rooted_default(",
			"c: CreateContainerConfigError: container has runAsNonRoot and image has non-numeric user (www-data), cannot verify user is non-root (pod: \"named_default(",
			"FailedCreatePodSandBox: failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, FQDN hhh",
			"is too long (64 characters is the max, 84 characters requested)",
			`SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted`,
		} {
			run.prints(want)
		}
		if err := os.MkdirAll(profiles, 0o755); err != nil {
			t.Fatal(err)
		}
		writeAll(t, filepath.Join(profiles, "late.json"), noMkdir)
		run.prints("default/late/c | see 0: it runs")
		run.signal(syscall.SIGINT)
		if code := run.wait(); code != 130 {
			t.Errorf("exit %d", code)
		}
	})
}
