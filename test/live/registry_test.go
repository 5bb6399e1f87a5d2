package live

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestRegistryServesTestImage(t *testing.T) {
	Each(t, func(t *testing.T, rt *Instance) {
		registry := Registry(t, "app:1")
		if _, err := dial(t, rt).Pull(t.Context(), registry.Image("app:1"), nil); err != nil {
			t.Fatal(err)
		}
		if got := registry.Requests(); !slices.ContainsFunc(got, func(r string) bool {
			return strings.HasPrefix(r, "GET /v2/app/manifests/")
		}) {
			t.Errorf("requests %q lack one for a manifest", got)
		}
	})
}

func TestRegistryRequiresPassword(t *testing.T) {
	Each(t, func(t *testing.T, rt *Instance) {
		registry := Registry(t, "app:1")
		registry.RequirePassword("me", "secret")
		c := dial(t, rt)
		if _, err := c.Pull(t.Context(), registry.Image("app:1"), nil); err == nil {
			t.Error("pulled without a password")
		}
		auth := &runtimeapi.AuthConfig{Username: "me", Password: "secret"}
		if _, err := c.Pull(t.Context(), registry.Image("app:1"), auth); err != nil {
			t.Errorf("pull with the password: %v", err)
		}
	})
}

func TestRegistryFailureIsSwitchable(t *testing.T) {
	Each(t, func(t *testing.T, rt *Instance) {
		registry := Registry(t, "app:1")
		c := dial(t, rt)
		registry.Fail(500)
		if _, err := c.Pull(t.Context(), registry.Image("app:1"), nil); err == nil {
			t.Error("pulled from a registry that fails")
		}
		registry.Fail(0)
		if _, err := c.Pull(t.Context(), registry.Image("app:1"), nil); err != nil {
			t.Errorf("pull from the mended registry: %v", err)
		}
	})
}

func TestSlowRegistryExceedsClientTimeout(t *testing.T) {
	Each(t, func(t *testing.T, rt *Instance) {
		registry := Registry(t, "app:1")
		registry.Slow(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := dial(t, rt).Pull(ctx, registry.Image("app:1"), nil); err == nil {
			t.Error("pulled within 300 ms from a registry that takes an hour")
		}
	})
}
