package credential

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/distribution/reference"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Keyring holds credentials by registry: a host, a port where one is named, and a
// path. A host may have wildcards, one for each part of its name
// (pkg/credentialprovider/keyring.go).
type Keyring map[string][]*runtimeapi.AuthConfig

// dockerConfig is the content of a Secret of the type kubernetes.io/dockercfg, and
// the auths of one of the type kubernetes.io/dockerconfigjson and of a config.json.
type dockerConfig map[string]dockerAuth

type dockerAuth struct {
	Username string `json:"username"`
	Password string `json:"password"`
	// Auth is base64 of user:password, and wins.
	Auth string `json:"auth"`
	// IdentityToken is what docker login stores instead of a password.
	IdentityToken string `json:"identitytoken"`
}

// AddSecret adds the credentials of a Secret; Secrets of other types have none. Its
// error contains nothing of the Secret but its name.
func (k Keyring) AddSecret(s *v1.Secret) error {
	var config dockerConfig
	var err error
	switch s.Type {
	case v1.SecretTypeDockerConfigJson:
		whole := struct {
			Auths dockerConfig `json:"auths"`
		}{}
		err, config = json.Unmarshal(s.Data[v1.DockerConfigJsonKey], &whole), whole.Auths
	case v1.SecretTypeDockercfg:
		err = json.Unmarshal(s.Data[v1.DockerConfigKey], &config)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("secret %q is no docker config", s.Name)
	}
	if err := k.add(config); err != nil {
		return fmt.Errorf("secret %q: %w", s.Name, err)
	}
	return nil
}

func (k Keyring) add(config dockerConfig) error {
	for registry, entry := range config {
		auth := &runtimeapi.AuthConfig{Username: entry.Username, Password: entry.Password, IdentityToken: entry.IdentityToken}
		if entry.Auth != "" {
			var err error
			if auth.Username, auth.Password, err = decodeAuth(entry.Auth); err != nil {
				return fmt.Errorf("auth of %q: %w", registry, err)
			}
		}
		k.addAuth(registry, auth)
	}
	return nil
}

func (k Keyring) addAuth(registry string, auth *runtimeapi.AuthConfig) {
	if at, ok := registryKey(registry); ok {
		k[at] = append(k[at], auth)
	}
}

// decodeAuth reads base64 with or without padding.
func decodeAuth(text string) (user, password string, err error) {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(text), "="))
	if err != nil {
		return "", "", errors.New("it is not base64")
	}
	user, password, ok := strings.Cut(string(data), ":")
	if !ok {
		return "", "", errors.New("it is not base64 of user:password")
	}
	return user, password, nil
}

// registryKey returns a registry as a docker config names it, without its scheme
// and the version of its API.
func registryKey(name string) (key string, ok bool) {
	if !strings.HasPrefix(name, "https://") && !strings.HasPrefix(name, "http://") {
		name = "https://" + name
	}
	u, err := url.Parse(name)
	if err != nil {
		return "", false
	}
	below := u.Path
	if strings.HasPrefix(below, "/v1/") || strings.HasPrefix(below, "/v2/") {
		below = below[len("/v1"):]
	}
	if below == "/" {
		below = ""
	}
	return u.Host + below, true
}

// dockerHub is the registry of names without one, as docker configs name it.
const dockerHub = "index.docker.io"

// Lookup returns every credential that may fit an image, those of longer registry
// names first. Docker Hub's are the last resort of its images.
func (k Keyring) Lookup(image string) []*runtimeapi.AuthConfig {
	ref, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return nil
	}
	var found []*runtimeapi.AuthConfig
	keys := make([]string, 0, len(k))
	for key := range k {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range slices.Backward(keys) {
		if matches(key, ref.Name()) {
			found = append(found, k[key]...)
		}
	}
	if len(found) == 0 && reference.Domain(ref) == "docker.io" {
		return k[dockerHub]
	}
	return found
}

// matches reports whether a credential's registry speaks for a repository: the
// same number of parts of the host, each matching; the same port; the
// beginning of the path.
func matches(registry, repository string) bool {
	host, port, below := parts(registry)
	ofHost, ofPort, ofBelow := parts(repository)
	if port != ofPort || len(host) != len(ofHost) || !strings.HasPrefix(ofBelow, below) {
		return false
	}
	for i := range host {
		if ok, err := path.Match(host[i], ofHost[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

func parts(name string) (host []string, port, below string) {
	whole, below, _ := strings.Cut(name, "/")
	alone, port, err := net.SplitHostPort(whole)
	if err != nil {
		alone, port = whole, ""
	}
	return strings.Split(alone, "."), port, below
}

// Auth is a credential as the CRI takes it.
type Auth = runtimeapi.AuthConfig

// Try calls pull with each credential until one succeeds, and once without any if there
// are none (PullImage in pkg/kubelet/kuberuntime/kuberuntime_image.go). failed are the
// errors of all attempts, nil if one succeeded.
func Try(ctx context.Context, auths []*Auth, pull func(context.Context, *Auth) (string, error)) (ref string, failed []error) {
	if len(auths) == 0 {
		auths = []*Auth{nil}
	}
	for _, auth := range auths {
		ref, err := pull(ctx, auth)
		if err == nil {
			return ref, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return "", failed
}
