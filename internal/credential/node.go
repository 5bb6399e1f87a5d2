package credential

import (
	"context"
	"log/slog"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Source returns credentials for an image. With an error, those that were found in
// spite of it.
type Source interface {
	Credentials(ctx context.Context, image string) ([]*runtimeapi.AuthConfig, error)
}

var (
	_ Source = Files{}
	_ Source = (*Plugins)(nil)
)

// Node are the credentials that the node adds to those of a pod.
type Node struct {
	// Sources are asked in order.
	Sources []Source
	Log     *slog.Logger
}

// Credentials returns what all sources have for an image. A source that fails is
// logged, and the pull goes on without it.
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
