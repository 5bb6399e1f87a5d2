package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/podctl/podctl/internal/sys/apiget"
)

// ReadOnlyURL is the usual address of a kubelet's unauthenticated read-only
// server, which is off by default (readOnlyPort).
const ReadOnlyURL = "http://127.0.0.1:10255"

// Options hold the address of a kubelet's server, which is trusted, and the credentials
// for it. Files are paths; "" stands for none.
type Options struct {
	// URL is the URL of the server, without a path; "" is ReadOnlyURL.
	URL string
	// TokenFile holds a bearer token, CertFile and KeyFile a client
	// certificate.
	TokenFile, CertFile, KeyFile string
	// CAFile verifies the kubelet's certificate. Without one the certificate of
	// a kubelet on this machine is not verified; that of any other one is, with
	// the system's authorities.
	CAFile string
}

// pods returns the pods that the kubelet manages: its /pods, with their
// statuses (pkg/kubelet/server/server.go).
func (o Options) pods(ctx context.Context) (podList, error) {
	l := podList{by: Access{URL: o.Address()}}
	client, err := o.client(l.by.URL)
	if err != nil {
		return l, fmt.Errorf("ask the kubelet: %w", err)
	}
	defer client.CloseIdleConnections()
	if l.pods, err = apiget.PodList(ctx, client, l.by.URL+"/pods"); err != nil {
		return l, fmt.Errorf("ask the kubelet: %w", err)
	}
	return l, nil
}

// Address is the URL without a slash at its end.
func (o Options) Address() string { return strings.TrimSuffix(cmp.Or(o.URL, ReadOnlyURL), "/") }

// Local reports whether the kubelet is on this machine.
func (o Options) Local() bool {
	u, err := url.Parse(o.Address())
	return err == nil && loopback(u.Hostname())
}

func (o Options) client(base string) (*http.Client, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("its URL is not of the form http://HOST[:PORT] or https://HOST[:PORT]")
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
		// A kubelet signs its own certificate unless it is configured otherwise,
		// and what listens on the loopback is on this machine.
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
			return nil, errors.New("a token is sent over https only")
		}
		token, err := os.ReadFile(o.TokenFile)
		if err != nil {
			return nil, err
		}
		transport = bearer{token: strings.TrimSpace(string(token)), next: transport}
	}
	return &http.Client{
		Transport: transport,
		Timeout:   apiget.Timeout,
		// A redirect must not carry the token to another server.
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
