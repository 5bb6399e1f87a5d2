package images

import (
	"context"
	"errors"
	"fmt"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/credential"
	"github.com/podctl/podctl/internal/pod"
)

// Pull pulls an image by its full name with the credentials that there are for it.
func Pull(ctx context.Context, client *cri.Client, name string, credentials credential.Lookup) (ref string, err error) {
	ref, failed := credential.Try(ctx, credentials(ctx, name), func(ctx context.Context, auth *credential.Auth) (string, error) {
		return client.PullImage(ctx, name, nil, auth)
	})
	return ref, errors.Join(failed...)
}

// Present returns an image. One that the runtime does not have is pulled; pulling is called before.
func Present(ctx context.Context, client *cri.Client, image string, credentials credential.Lookup, pulling func(name string)) (*pod.Image, error) {
	name, err := pod.WithTag(image)
	if err != nil {
		return nil, err
	}
	found, err := client.ImageStatus(ctx, name)
	if err != nil || found != nil {
		return found, err
	}
	pulling(name)
	if _, err := Pull(ctx, client, name, credentials); err != nil {
		return nil, err
	}
	found, err = client.ImageStatus(ctx, name)
	if err == nil && found == nil {
		err = fmt.Errorf("image %s: %w", name, cri.ErrNotFound)
	}
	return found, err
}
