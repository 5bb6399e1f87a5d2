package credential

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// asks is a plugin that records its requests and answers with its file "answer".
const asks = `#!/bin/sh
cd "$(dirname "$0")"
cat >> requests; echo " $1 $MODE" >> requests
cat answer`

func plugins(t *testing.T, dir, config string) (*Plugins, error) {
	t.Helper()
	write(t, filepath.Join(dir, "ask"), asks, 0o700)
	return LoadPlugins(write(t, filepath.Join(dir, "config.yaml"), config, 0o600), dir, time.Now)
}

const config = `
apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: ask
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ["*.r.io", "r.io:5000/team"]
  defaultCacheDuration: 1h
  args: [fetch]
  env: [{name: MODE, value: test}]
`

func answer(cacheKey, duration string) string {
	return `{"apiVersion": "credentialprovider.kubelet.k8s.io/v1", "kind": "CredentialProviderResponse", "cacheKeyType": "` + cacheKey + `"` + duration + `,
		"auth": {"*.r.io": {"username": "short", "password": "p"}, "a.r.io/team": {"username": "long", "password": "p"}, "other.io": {"username": "other", "password": "p"}}}`
}

func requests(t *testing.T, dir string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "requests"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

func TestPluginMatchImages(t *testing.T) {
	dir := t.TempDir()
	p, err := plugins(t, dir, config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "answer"), answer("Image", ""), 0o600)
	if got := logins(t, p, "a.r.io/team/app:1"); !slices.Equal(got, []string{"long:p", "short:p"}) {
		t.Errorf("got %q", got)
	}
	if got := logins(t, p, "example.com/app"); len(got) != 0 {
		t.Errorf("an image that it does not match: %q", got)
	}
	data, _ := os.ReadFile(filepath.Join(dir, "requests"))
	if want := `{"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":"a.r.io/team/app"} fetch test` + "\n"; string(data) != want {
		t.Errorf("request %q, want %q", data, want)
	}
}

func TestPluginCacheKeyType(t *testing.T) {
	images := []string{"a.r.io/one:1", "a.r.io/one:2", "a.r.io/two", "b.r.io/one"}
	for key, calls := range map[string]int{"Image": 3, "Registry": 2, "Global": 1} {
		dir := t.TempDir()
		p, err := plugins(t, dir, config)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "answer"), answer(key, ""), 0o600)
		for _, image := range images {
			logins(t, p, image)
		}
		if got := requests(t, dir); got != calls {
			t.Errorf("%s: %d calls, want %d", key, got, calls)
		}
	}
}

func TestPluginCacheExpires(t *testing.T) {
	dir := t.TempDir()
	p, err := plugins(t, dir, config)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	p.all[0].now = func() time.Time { return now }
	write(t, filepath.Join(dir, "answer"), answer("Image", `, "cacheDuration": "10s"`), 0o600)
	for _, step := range []struct {
		after time.Duration
		calls int
	}{{0, 1}, {9 * time.Second, 1}, {time.Second, 2}} {
		now = now.Add(step.after)
		logins(t, p, "a.r.io/app")
		if got := requests(t, dir); got != step.calls {
			t.Errorf("after %s: %d calls, want %d", step.after, got, step.calls)
		}
	}
	write(t, filepath.Join(dir, "answer"), answer("Image", `, "cacheDuration": "0s"`), 0o600)
	logins(t, p, "b.r.io/app")
	logins(t, p, "b.r.io/app")
	if got := requests(t, dir); got != 4 {
		t.Errorf("an answer that is not to be kept was: %d calls", got)
	}
}

func TestPluginErrorHidesAnswer(t *testing.T) {
	for _, text := range []string{`hunter2`, `{"password": "hunter2"}`, answer("hunter", ""), strings.ReplaceAll(answer("Image", ""), "/v1\"", "/v1beta1\"")} {
		dir := t.TempDir()
		p, err := plugins(t, dir, config)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "answer"), text, 0o600)
		if _, err := p.Credentials(t.Context(), "a.r.io/app"); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
		// The node goes on without it.
		n := Node{Sources: []Source{p, Files{}}, Log: slog.New(slog.DiscardHandler)}
		if got := n.Credentials(t.Context(), "a.r.io/app"); len(got) != 0 {
			t.Errorf("%s: %d credentials", text, len(got))
		}
	}
}

func TestServiceAccountProviderIsSkipped(t *testing.T) {
	for need, calls := range map[string]int{"true": 0, "false": 1} {
		dir := t.TempDir()
		p, err := plugins(t, dir, config+"  tokenAttributes: {serviceAccountTokenAudience: a, cacheType: Token, requireServiceAccount: "+need+"}\n")
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "answer"), answer("Image", ""), 0o600)
		logins(t, p, "a.r.io/app")
		if got := requests(t, dir); got != calls {
			t.Errorf("requireServiceAccount %s: %d calls, want %d", need, got, calls)
		}
	}
}

func TestPluginConfigValidation(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"CredentialProviderConfig", "Other", "not CredentialProviderConfig"},
		{"kubelet.config.k8s.io/v1", "v1", "not CredentialProviderConfig"},
		{"name: ask", "name: ../ask", "name"},
		{"name: ask", "name: missing", "missing"},
		{"k8s.io/v1\n  match", "k8s.io/v2\n  match", "apiVersion"},
		{`["*.r.io", "r.io:5000/team"]`, "[]", "matchImages"},
		{"defaultCacheDuration: 1h", "", "defaultCacheDuration"},
		{"args:", "arguments:", "arguments"},
	} {
		if _, err := plugins(t, t.TempDir(), strings.Replace(config, c.old, c.new, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.new, err)
		}
	}
}
