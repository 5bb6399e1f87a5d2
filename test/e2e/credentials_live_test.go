package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// write writes a file of the place and returns its path.
func (p *place) write(name, text string, mode os.FileMode) string {
	p.t.Helper()
	path := p.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// A pod without pull secrets is pulled with what the node has: a docker config file, or
// a credential provider plugin of the kubelet's.
func TestPullWithNodeCredentials(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		registry := live.Registry(t, "app:1")
		registry.RequirePassword("node", secretValue)
		place := at(t, rt)
		auth := base64.StdEncoding.EncodeToString([]byte("node:" + secretValue))
		file := place.write("config.json", fmt.Sprintf(`{"auths": {"%s": {"auth": "%s"}}}`, registry.Addr, auth), 0o600)
		place.write("plugins/fixed", fmt.Sprintf(`#!/bin/sh
cat > /dev/null
echo '{"apiVersion": "credentialprovider.kubelet.k8s.io/v1", "kind": "CredentialProviderResponse", "cacheKeyType": "Registry",
  "auth": {"%s": {"username": "node", "password": "%s"}}}'
`, registry.Addr, secretValue), 0o700)
		provider := place.write("provider.yaml", fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- {name: fixed, apiVersion: credentialprovider.kubelet.k8s.io/v1, defaultCacheDuration: 1m, matchImages: ["%s"]}
`, registry.Addr), 0o600)
		job := func(name string) string {
			yaml := strings.Replace(pod(name, "echo pulled", never), "docker.io/library/busybox:latest", registry.Image("app:1"), 1)
			return strings.Replace(yaml, "IfNotPresent", "Always", 1)
		}
		for name, flags := range map[string][]string{
			"file":   {"--registry-config", file},
			"plugin": {"--registry-config", "none", "--image-credential-provider-config", provider, "--image-credential-provider-bin-dir", place.path("plugins")},
		} {
			out, errw, code := place.run(job(name), append(flags, "--logs", "--debug", "-")...)
			if code != 0 || !strings.Contains(out, "| pulled") {
				t.Errorf("%s: exit %d\n%s%s", name, code, out, errw)
			}
			if text := out + errw; strings.Contains(text, secretValue) || strings.Contains(text, auth) {
				t.Errorf("%s: the password is printed:\n%s", name, text)
			}
		}
		out, errw, code := place.run(job("none"), "--registry-config", "none", "--wait-timeout", "15s", "-")
		if code != 1 || !strings.Contains(out+errw, "ErrImagePull") && !strings.Contains(out+errw, "ImagePullBackOff") {
			t.Errorf("without credentials: exit %d\n%s%s", code, out, errw)
		}
	})
}
