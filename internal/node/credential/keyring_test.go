package credential

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func pullSecret(kind v1.SecretType, key, text string) *v1.Secret {
	return &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Type: kind, Data: map[string][]byte{key: []byte(text)}}
}

// users looks an image up in a keyring that has, for each registry, the
// registry as the user.
func users(t *testing.T, image string, registries ...string) []string {
	t.Helper()
	var entries []string
	for _, r := range registries {
		entries = append(entries, `"`+r+`": {"username": "`+r+`", "password": "p"}`)
	}
	k := Keyring{}
	if err := k.AddSecret(pullSecret(v1.SecretTypeDockerConfigJson, v1.DockerConfigJsonKey, `{"auths": {`+strings.Join(entries, ",")+`}}`)); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, auth := range k.Lookup(image) {
		found = append(found, auth.Username)
	}
	return found
}

// The rules are those of the kubelet's keyring: see its tests in
// pkg/credentialprovider/keyring_test.go.
func TestLookupByHostPortAndPath(t *testing.T) {
	for _, c := range []struct {
		image, registry string
		fits            bool
	}{
		{"example.com/app:1", "example.com", true},
		{"example.com/app:1", "https://example.com/v1/", true},
		{"example.com/app:1", "http://example.com/v2/", true},
		{"example.com/team/app", "example.com/team", true},
		{"example.com/team/app", "example.com/v2/team", true},
		{"example.com/team/app", "example.com/other", false},
		{"example.com/app", "example.com/app/below", false},
		{"example.com/app", "example.org", false},
		{"example.com:5000/app", "example.com", false},
		{"example.com:5000/app", "example.com:5000", true},
		{"example.com/app", "example.com:5000", false},
		{"a.example.com/app", "*.example.com", true},
		{"a.b.example.com/app", "*.example.com", false},
		{"a.b.example.com/app", "*.*.example.com", true},
		{"example.com/app", "*.example.com", false},
		{"reg-1.example.com:443/app", "reg-*.example.com:443", true},
		{"example.com/app@sha256:" + strings.Repeat("a", 64), "example.com", true},
		{"127.0.0.1:5000/app", "127.0.0.1:5000", true},
		{"[::1]:5000/app", "[::1]:5000", true},
		{"busybox", "docker.io", true},
		{"busybox", "https://index.docker.io/v1/", true},
		{"team/app", "index.docker.io", true},
		{"docker.io/team/app:1", "https://index.docker.io/v1/", true},
		{"example.com/app", "https://index.docker.io/v1/", false},
		{"busybox", "docker.io/library/busybox", true},
	} {
		if got := len(users(t, c.image, c.registry)) == 1; got != c.fits {
			t.Errorf("image %s, registry %s: fits %v, want %v", c.image, c.registry, got, c.fits)
		}
	}
}

// All that fit are tried: the longest name first, Docker Hub's only where no
// other fits.
func TestLookupLongestFirst(t *testing.T) {
	got := users(t, "quay.io/team/app", "quay.io", "quay.io/team/app", "*.io", "index.docker.io", "quay.io/team")
	if want := []string{"quay.io/team/app", "quay.io/team", "quay.io", "*.io"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := users(t, "busybox", "index.docker.io", "docker.io"); !slices.Equal(got, []string{"docker.io"}) {
		t.Errorf("got %q", got)
	}
}

func TestPullSecretForms(t *testing.T) {
	auth := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for name, s := range map[string]*v1.Secret{
		"fields":      pullSecret(v1.SecretTypeDockerConfigJson, v1.DockerConfigJsonKey, `{"auths": {"r.io": {"username": "u", "password": "p:1"}}}`),
		"auth":        pullSecret(v1.SecretTypeDockerConfigJson, v1.DockerConfigJsonKey, `{"auths": {"r.io": {"username": "not", "auth": "`+auth("u:p:1")+`"}}}`),
		"not padded":  pullSecret(v1.SecretTypeDockerConfigJson, v1.DockerConfigJsonKey, `{"auths": {"r.io": {"auth": "`+strings.TrimRight(auth("u:p:1"), "=")+`"}}}`),
		"old":         pullSecret(v1.SecretTypeDockercfg, v1.DockerConfigKey, `{"r.io": {"auth": "`+auth("u:p:1")+`"}}`),
		"with others": pullSecret(v1.SecretTypeDockerConfigJson, v1.DockerConfigJsonKey, `{"credsStore": "x", "auths": {"r.io": {"username": "u", "password": "p:1", "email": "e"}}}`),
	} {
		k := Keyring{}
		if err := k.AddSecret(s); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := k.Lookup("r.io/app"); len(got) != 1 || got[0].Username != "u" || got[0].Password != "p:1" {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// A Secret of another type is passed over; one that cannot be read is an
// error, which contains nothing of it.
func TestUnreadablePullSecrets(t *testing.T) {
	k := Keyring{}
	if err := k.AddSecret(pullSecret(v1.SecretTypeOpaque, v1.DockerConfigJsonKey, `{"auths": {"r.io": {}}}`)); err != nil || len(k) > 0 {
		t.Errorf("%v, %v", err, k)
	}
	for _, text := range []string{`hunter2`, `{"auths": "hunter2"}`, `{"auths": {"r.io": {"auth": "hunter2!"}}}`, `{"auths": {"r.io": {"auth": "aHVudGVyMg=="}}}`, `{"auths": {"r.io": {"username": 1}}}`} {
		err := k.AddSecret(pullSecret(v1.SecretTypeDockerConfigJson, v1.DockerConfigJsonKey, text))
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), `secret "s"`) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
