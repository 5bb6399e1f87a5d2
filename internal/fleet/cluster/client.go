package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podctl/podctl/internal/sys/apiget"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/safeurl"
)

// Options name the cluster.
type Options struct {
	// Kubeconfig is a file, "" for KUBECONFIG, ~/.kube/config or the service account of
	// this pod. Context is one of its contexts, "" for the current one.
	Kubeconfig, Context string
}

// Client asks one API server. It is safe for concurrent use.
type Client struct {
	config *rest.Config
	base   *url.URL
	http   *http.Client
}

// Open reads the kubeconfig. It makes no connection.
func Open(o Options) (*Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, configError(err)
	}
	config.Timeout = apiget.Timeout
	made, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, configError(err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, configError(err)
	}
	client := *made // it may be the default one of the process
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{config: config, base: base, http: &client}, nil
}

// configError returns the error for a kubeconfig that cannot be used.
func configError(err error) error {
	advice := ""
	if clientcmd.IsEmptyConfig(err) {
		advice = "--kubeconfig FILE, KUBECONFIG or ~/.kube/config names the cluster"
	}
	return hint.Errorf(advice, "read kubeconfig: %w", safeurl.Cause(err))
}

// unreachable marks an error for the exit code.
type unreachable struct{ error }

func (e unreachable) Unwrap() error { return e.error }

// Unreachable marks the exit code.
func (unreachable) Unreachable() {}

// answerError returns the error for a request that the API server did not answer as
// asked. It names a permission that is missing.
func answerError(verb string, err error) error {
	advice := ""
	status, ok := errors.AsType[*apiget.StatusError](err)
	if ok && (status.Code == http.StatusForbidden || status.Code == http.StatusUnauthorized) || apierrors.IsForbidden(err) {
		advice = "kubectl auth can-i --list shows what you may do; docs/fleet.md lists what the plugin needs"
	}
	return unreachable{hint.Errorf(advice, "%s: %w", verb, err)}
}

// withTimeout returns what do returns, or the cause of the end of ctx: a credential plugin
// does not end with it.
func withTimeout[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if r.err != nil && over(ctx) {
			<-ctx.Done()
			return r.value, context.Cause(ctx)
		}
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// over reports whether ctx has ended, or its deadline has passed: a connection with that
// deadline may fail before ctx has noticed.
func over(ctx context.Context) bool {
	deadline, has := ctx.Deadline()
	return ctx.Err() != nil || has && !time.Now().Before(deadline)
}

func invalidName(kind, name string) error { return fmt.Errorf("invalid name %q of a %s", name, kind) }
