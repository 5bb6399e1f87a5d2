package desired

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// ReadOnlyURL is where a kubelet answers without asking who is there, if it
// was told to at all (--read-only-port).
const ReadOnlyURL = "http://127.0.0.1:10255"

// KubeletOptions say where a kubelet listens and who asks. Files are paths;
// "" stands for none.
type KubeletOptions struct {
	// URL is the kubelet's, without a path; "" is ReadOnlyURL.
	URL string
	// TokenFile holds a bearer token, CertFile and KeyFile a client
	// certificate.
	TokenFile, CertFile, KeyFile string
	// CAFile verifies the kubelet's certificate. Without one a kubelet on this
	// machine is taken on trust, and no other is given a token.
	CAFile string
}

// kubeletTimeout is how long a kubelet may take; one that hangs is one that
// cannot be read.
const kubeletTimeout = 10 * time.Second

// Kubelet are the pods that a kubelet wants to run: its /pods, with their
// statuses (pkg/kubelet/server/server.go).
func Kubelet(ctx context.Context, o KubeletOptions) Answer {
	base := o.URL
	if base == "" {
		base = ReadOnlyURL
	}
	a := Answer{Source: "kubelet " + base}
	client, err := o.client(base)
	if err == nil {
		defer client.CloseIdleConnections()
		a.Pods, err = podList(ctx, client, strings.TrimSuffix(base, "/")+"/pods")
	}
	if err != nil {
		a.Err = fmt.Errorf("ask the kubelet: %w", err)
	}
	return a
}

func (o KubeletOptions) client(base string) (*http.Client, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("%q is no http or https address", base)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case o.CAFile != "":
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", o.CAFile)
		}
	case loopback(u.Hostname()):
		// A kubelet signs its own certificate unless it is told otherwise, and
		// whoever answers on this machine's loopback is this machine.
		config.InsecureSkipVerify = true
	}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	var transport http.RoundTripper = &http.Transport{TLSClientConfig: config, Proxy: nil}
	if o.TokenFile != "" {
		if u.Scheme != "https" {
			return nil, errors.New("a token is sent by https only")
		}
		token, err := os.ReadFile(o.TokenFile)
		if err != nil {
			return nil, err
		}
		transport = bearer{token: strings.TrimSpace(string(token)), next: transport}
	}
	return &http.Client{
		Transport: transport,
		Timeout:   kubeletTimeout,
		// A token must not follow to somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// bearer adds a token to each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// maxList is the size of an answer that is still read, in bytes.
const maxList = 256 << 20

// get reads a JSON answer into a value.
func get(ctx context.Context, client *http.Client, address string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &StatusError{URL: address, Code: resp.StatusCode}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxList)).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}

// podList reads a list of pods. Something else that is JSON is no list.
func podList(ctx context.Context, client *http.Client, address string) ([]*v1.Pod, error) {
	var list v1.PodList
	if err := get(ctx, client, address, &list); err != nil {
		return nil, err
	}
	if list.Kind != "PodList" {
		return nil, fmt.Errorf("%s: the answer is a %q, not a PodList", address, list.Kind)
	}
	pods := make([]*v1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// StatusError is an answer that is not one.
type StatusError struct {
	URL  string
	Code int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// Hint says what to try next, "" if nothing comes to mind.
func (e *StatusError) Hint() string {
	switch e.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "give a token or a client certificate that may read pods (verb get, nodes/proxy)"
	default:
		return ""
	}
}
