package credential

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubeletv1 "k8s.io/kubelet/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// configGroup is the API group of a CredentialProviderConfig.
const configGroup = "kubelet.config.k8s.io/"

// Plugins are the kubelet's credential provider plugins. They are safe for concurrent
// use.
type Plugins struct {
	all []*plugin
}

// LoadPlugins reads a CredentialProviderConfig, a file or a directory of files as for
// the kubelet's --image-credential-provider-config, whose programs are in binDir.
func LoadPlugins(path, binDir string, now func() time.Time) (*Plugins, error) {
	files, err := configFiles(path)
	if err != nil {
		return nil, err
	}
	p, listed := &Plugins{}, 0
	for _, file := range files {
		config, err := readPlugins(file)
		if err != nil {
			return nil, err
		}
		listed += len(config.Providers)
		for _, provider := range config.Providers {
			if err := p.add(provider, binDir, now); err != nil {
				return nil, fmt.Errorf("read %s: provider %q: %w", file, provider.Name, err)
			}
		}
	}
	if listed == 0 {
		return nil, fmt.Errorf("read %s: it lists no providers", path)
	}
	return p, nil
}

// configFiles returns the configuration files at a path: the file, or those in the
// directory.
func configFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path) // sorted
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files, nil
}

func readPlugins(file string) (config kubeletv1.CredentialProviderConfig, err error) {
	data, err := bounded.Read(file, maxFile)
	if err != nil {
		return config, err
	}
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		return config, fmt.Errorf("read %s: %w", file, err)
	}
	if config.Kind != "CredentialProviderConfig" || !strings.HasPrefix(config.APIVersion, configGroup) {
		return config, fmt.Errorf("read %s: it is %s of %q, not CredentialProviderConfig of %sv1", file, config.Kind, config.APIVersion, configGroup)
	}
	return config, nil
}

// add validates one provider as the kubelet does.
func (p *Plugins) add(c kubeletv1.CredentialProvider, binDir string, now func() time.Time) error {
	switch {
	case c.Name == "" || c.Name == "." || c.Name == ".." || strings.ContainsAny(c.Name, "/ "):
		return errors.New("name: it is not the name of a program")
	case slices.ContainsFunc(p.all, func(other *plugin) bool { return other.config.Name == c.Name }):
		return errors.New("name: another provider has it")
	case !slices.Contains(pluginVersions, c.APIVersion):
		return fmt.Errorf("apiVersion: %q is not one of %s", c.APIVersion, strings.Join(pluginVersions, ", "))
	case len(c.MatchImages) == 0:
		return errors.New("matchImages: it is required")
	case c.DefaultCacheDuration == nil || c.DefaultCacheDuration.Duration < 0:
		return errors.New("defaultCacheDuration: a duration of 0s or more is required")
	case c.TokenAttributes != nil && c.TokenAttributes.RequireServiceAccount == nil:
		return errors.New("tokenAttributes.requireServiceAccount: it is required")
	}
	path := filepath.Join(binDir, c.Name)
	if _, err := exec.LookPath(path); err != nil {
		return err
	}
	if t := c.TokenAttributes; t != nil && *t.RequireServiceAccount {
		return nil // pods have no service account here, and the kubelet does not ask it without one
	}
	p.all = append(p.all, &plugin{config: c, path: path, now: now, cache: map[string]cached{}})
	return nil
}

// Credentials returns the credentials of all plugins for an image: the longest
// registry names first. What a plugin fails at is an error beside the rest.
func (p *Plugins) Credentials(ctx context.Context, image string) ([]*runtimeapi.AuthConfig, error) {
	name := repository(image)
	keys := Keyring{}
	var errs []error
	for _, plugin := range p.all {
		auths, err := plugin.auths(ctx, name)
		if err != nil {
			errs = append(errs, err)
		}
		for registry, auth := range auths {
			keys.addAuth(registry, &runtimeapi.AuthConfig{Username: auth.Username, Password: auth.Password})
		}
	}
	return keys.Lookup(image), errors.Join(errs...)
}

// plugin is one provider with its cache.
type plugin struct {
	config kubeletv1.CredentialProvider
	path   string
	now    func() time.Time
	calls  singleflight.Group

	mu    sync.Mutex
	cache map[string]cached
}
