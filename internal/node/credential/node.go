package credential

import (
	"context"
	"log/slog"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Source returns credentials for an image. With an error it may return those that were
// found all the same.
type Source interface {
	Credentials(ctx context.Context, image string) ([]*runtimeapi.AuthConfig, error)
}

var (
	_ Source = Files{}
	_ Source = (*Plugins)(nil)
)

// Config names the files with the credentials of a node. The zero value is where the
// kubelet looks for docker config files, without plugins.
type Config struct {
	// RegistryConfig is a docker config file, "" for the kubelet's search and NoFile
	// for none.
	RegistryConfig string
	// ProviderConfig and ProviderBinDir are those of LoadPlugins, "" for none.
	ProviderConfig, ProviderBinDir string
}

// NoFile is the RegistryConfig that disables docker config files.
const NoFile = "none"

// Open returns the sources of a Config. found are the files to search without a
// RegistryConfig.
func (c Config) Open(found Files, now func() time.Time) ([]Source, error) {
	var sources []Source
	switch c.RegistryConfig {
	case "":
		sources = append(sources, found)
	case NoFile:
	default:
		file := File(c.RegistryConfig)
		if _, _, err := file.read(); err != nil {
			return nil, err
		}
		sources = append(sources, file)
	}
	if c.ProviderConfig != "" {
		plugins, err := LoadPlugins(c.ProviderConfig, c.ProviderBinDir, now)
		if err != nil {
			return nil, err
		}
		sources = append(sources, plugins)
	}
	return sources, nil
}

// Lookup returns what a node has to pull an image with. It may block and ends with
// ctx.
type Lookup func(ctx context.Context, image string) []*runtimeapi.AuthConfig

// Fixed returns the same credentials for every image.
func Fixed(auth *runtimeapi.AuthConfig) Lookup {
	return func(context.Context, string) []*runtimeapi.AuthConfig { return []*runtimeapi.AuthConfig{auth} }
}

// Node are the credentials that the node adds to those of a pod.
type Node struct {
	// Sources are asked in order.
	Sources []Source
	Log     *slog.Logger
}

// Credentials returns the credentials of all sources for an image. A failing source is
// logged and skipped.
func (n Node) Credentials(ctx context.Context, image string) []*runtimeapi.AuthConfig {
	var all []*runtimeapi.AuthConfig
	for _, s := range n.Sources {
		found, err := s.Credentials(ctx, image)
		if err != nil {
			n.Log.Warn("registry credentials are not complete", "image", image, "err", err)
		}
		all = append(all, found...)
	}
	return all
}
