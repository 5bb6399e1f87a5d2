package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/distribution/reference"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	providerv1 "k8s.io/kubelet/pkg/apis/credentialprovider/v1"
)

// pluginVersions are the versions of the API between the kubelet and a plugin. What
// podctl sends and reads is the same in all of them.
var pluginVersions = []string{"credentialprovider.kubelet.k8s.io/v1", "credentialprovider.kubelet.k8s.io/v1beta1", "credentialprovider.kubelet.k8s.io/v1alpha1"}

// allImages is the key of answers for any image.
const allImages = "<global>"

// cached is what a plugin returned, and until when it holds.
type cached struct {
	auths map[string]providerv1.AuthConfig
	until time.Time
}

// repository returns the name of an image without tag and digest, with its registry.
func repository(image string) string {
	ref, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return image
	}
	return ref.Name()
}

// auths returns the credentials of the plugin by registry; nothing for an image that
// it does not match.
func (p *plugin) auths(ctx context.Context, image string) (map[string]providerv1.AuthConfig, error) {
	if !p.matches(image) {
		return nil, nil
	}
	if auths, ok := p.fromCache(image); ok {
		return auths, nil
	}
	// A pull that is given up does not end the call of another one.
	answer := p.calls.DoChan(image, func() (any, error) { return p.fetch(context.WithoutCancel(ctx), image) })
	select {
	case got := <-answer:
		if got.Err != nil {
			return nil, fmt.Errorf("credential provider %q: %w", p.config.Name, got.Err)
		}
		return got.Val.(map[string]providerv1.AuthConfig), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *plugin) matches(image string) bool {
	for _, pattern := range p.config.MatchImages {
		if matches(pattern, image) {
			return true
		}
	}
	return false
}

func (p *plugin) fromCache(image string) (map[string]providerv1.AuthConfig, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for key, c := range p.cache {
		if !now.Before(c.until) {
			delete(p.cache, key)
		}
	}
	for _, key := range []string{image, registryOf(image), allImages} {
		if c, ok := p.cache[key]; ok {
			return c.auths, true
		}
	}
	return nil, false
}

// registryOf returns the registry of a full name.
func registryOf(image string) string {
	registry, _, _ := strings.Cut(image, "/")
	return registry
}

// fetch runs the plugin and keeps its answer.
func (p *plugin) fetch(ctx context.Context, image string) (map[string]providerv1.AuthConfig, error) {
	request, err := json.Marshal(providerv1.CredentialProviderRequest{
		TypeMeta: metav1.TypeMeta{APIVersion: p.config.APIVersion, Kind: "CredentialProviderRequest"}, Image: image,
	})
	if err != nil {
		return nil, err
	}
	var env []string
	for _, e := range p.config.Env {
		env = append(env, e.Name+"="+e.Value)
	}
	out, err := run(ctx, p.path, p.config.Args, env, bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	var answer providerv1.CredentialProviderResponse
	if json.Unmarshal(out, &answer) != nil || answer.Kind != "CredentialProviderResponse" || answer.APIVersion != p.config.APIVersion {
		return nil, fmt.Errorf("its answer is not a CredentialProviderResponse of %s", p.config.APIVersion) // it may contain a password
	}
	var key string
	switch answer.CacheKeyType {
	case providerv1.ImagePluginCacheKeyType:
		key = image
	case providerv1.RegistryPluginCacheKeyType:
		key = registryOf(image)
	case providerv1.GlobalPluginCacheKeyType:
		key = allImages
	default:
		return nil, fmt.Errorf("the cacheKeyType %q of its answer is not Image, Registry or Global", answer.CacheKeyType)
	}
	keep := p.config.DefaultCacheDuration.Duration
	if answer.CacheDuration != nil {
		keep = answer.CacheDuration.Duration
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cache[key] = cached{auths: answer.Auth, until: p.now().Add(keep)}
	return answer.Auth, nil
}
