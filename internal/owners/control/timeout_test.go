package control

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A suspended podctl accepts a request and never answers. A client gives up what the
// podctl answers at once; Stop waits as long as the caller does.
func TestRequestsToSilentProcessTimeOut(t *testing.T) {
	const patience = time.Hour
	for name, test := range map[string]struct {
		ask  func(context.Context, *Client) error
		want time.Duration
	}{
		"read":  {func(ctx context.Context, c *Client) error { _, err := c.Workers(ctx); return err }, readTimeout},
		"start": {func(ctx context.Context, c *Client) error { return c.Start(ctx, "default", "web") }, startTimeout},
		"debug": {func(ctx context.Context, c *Client) error {
			return c.Debug(ctx, "default", "web", v1.EphemeralContainer{})
		}, startTimeout},
		"restart": {func(ctx context.Context, c *Client) error {
			return c.Restart(ctx, "default", "web", map[string]string{"c": ""}, false)
		}, startTimeout},
		"stop": {func(ctx context.Context, c *Client) error { return c.Stop(ctx, "default", "web", nil) }, patience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := Process{Name: "agent", Socket: "silent.sock"}.Client(func(context.Context, string) (net.Conn, error) {
					near, far := net.Pipe()
					go func() { _, _ = io.Copy(io.Discard, far) }()
					return near, nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				began := time.Now()
				err := test.ask(ctx, c)
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != test.want {
					t.Errorf("%v after %s, want the deadline after %s", err, took, test.want)
				}
			})
		})
	}
}
