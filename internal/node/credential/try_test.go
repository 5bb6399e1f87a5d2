package credential

import (
	"context"
	"errors"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestTryUntilAccepted(t *testing.T) {
	auths := []*runtimeapi.AuthConfig{{Username: "old"}, {Username: "good"}, {Username: "unused"}}
	denied := errors.New("denied")
	for _, c := range []struct {
		name   string
		auths  []*runtimeapi.AuthConfig
		accept string
		tried  int
		failed int
	}{
		{"the second", auths, "good", 2, 0},
		{"none of them", auths, "other", 3, 3},
		{"no credentials", nil, "", 1, 0},
		{"no credentials, refused", nil, "good", 1, 1},
	} {
		tried := 0
		ref, failed := Try(t.Context(), c.auths, func(_ context.Context, auth *runtimeapi.AuthConfig) (string, error) {
			if tried++; auth.GetUsername() == c.accept {
				return "ref", nil
			}
			return "", denied
		})
		if tried != c.tried || len(failed) != c.failed || (ref == "ref") != (c.failed == 0) {
			t.Errorf("%s: %q after %d tries, %v", c.name, ref, tried, failed)
		}
	}
}

func TestTryStopsWhenCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tried := 0
	_, failed := Try(ctx, []*runtimeapi.AuthConfig{{}, {}}, func(context.Context, *runtimeapi.AuthConfig) (string, error) {
		tried++
		cancel()
		return "", ctx.Err()
	})
	if tried != 1 || !errors.Is(errors.Join(failed...), context.Canceled) {
		t.Errorf("%d tries, %v", tried, failed)
	}
}
