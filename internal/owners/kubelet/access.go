package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/sys/hostroot"
	"github.com/podctl/podctl/internal/sys/safeurl"
)

// Credential authenticates podctl to a kubelet.
type Credential struct {
	Kind CredentialKind
	// File is the path of the certificate on the kubelet's host.
	File string

	token   string
	cert    *tls.Certificate
	invalid error // why it cannot be read
}

// CredentialKind is a kind of credential.
type CredentialKind string

// The kinds of credentials.
const (
	Anonymous      CredentialKind = "no credential"
	ServiceAccount CredentialKind = "service account token"
	Certificate    CredentialKind = "client certificate"
)

func (c Credential) String() string { return strings.TrimSpace(string(c.Kind) + " " + c.File) }

// adminCertificate is the client certificate of kubeadm's API server for kubelets,
// without its suffix: it exists on control planes.
const adminCertificate = "/etc/kubernetes/pki/apiserver-kubelet-client"

// Access is a way to ask a kubelet: a server and a credential.
type Access struct {
	URL        string
	Credential Credential
}

// server names the server, without the user that a URL may have.
func (a Access) server() string {
	if strings.HasPrefix(a.URL, "unix:") {
		return a.URL
	}
	return safeurl.Text(a.URL)
}

// accesses returns the ways to ask the kubelet, in the order in which they are tried:
// the read-only server, podctl's own credentials, those of the host, none.
func (p *Process) accesses() []Access {
	var all []Access
	for _, url := range p.servers() {
		if strings.HasPrefix(url, "https:") {
			for _, c := range p.credentials() {
				all = append(all, Access{url, c})
			}
		}
		all = append(all, Access{url, Credential{Kind: Anonymous}})
	}
	return all
}

// credentials returns the credentials that podctl finds.
func (p *Process) credentials() []Credential {
	var all []Credential
	if token, err := p.token(); err == nil && token != "" {
		all = append(all, Credential{Kind: ServiceAccount, token: token})
	}
	cert, err := p.files.read(adminCertificate + ".crt")
	if err != nil {
		return all
	}
	c := Credential{Kind: Certificate, File: adminCertificate + ".crt"}
	key, err := p.files.read(adminCertificate + ".key")
	if err == nil {
		var pair tls.Certificate
		pair, err = tls.X509KeyPair(cert, key)
		c.cert = &pair
	}
	c.invalid = err
	return append(all, c)
}

func (p *Process) token() (string, error) {
	if p.readToken != nil {
		return p.readToken()
	}
	return hostroot.Token()
}

// ask tries the accesses until one answers.
func (p *Process) ask(ctx context.Context, get func(context.Context, *http.Client, string) error) (Access, error) {
	accesses := p.accesses()
	if len(accesses) == 0 {
		return Access{}, errors.New("it has no server")
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	var errs []error
	for _, a := range accesses {
		err := p.askBy(ctx, a, get)
		if err == nil {
			return a, nil
		}
		if a.Credential.Kind != Anonymous {
			err = fmt.Errorf("with the %s: %w", a.Credential, err)
		}
		errs = append(errs, fmt.Errorf("ask the kubelet: %w", err))
	}
	return Access{}, errors.Join(errs...)
}

func (p *Process) askBy(ctx context.Context, a Access, get func(context.Context, *http.Client, string) error) error {
	if a.Credential.invalid != nil {
		return a.Credential.invalid
	}
	client, err := p.client(a)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return get(ctx, client, a.URL)
}

// client returns a client that connects in the kubelet's network namespace. It sends a
// credential only to a server with a certificate of this kubelet; without a credential
// it accepts an answer only if provenTransport shows that it is the kubelet's.
func (p *Process) client(a Access) (*http.Client, error) {
	client, err := Options{URL: a.URL}.client(a.URL)
	if err != nil {
		return nil, err
	}
	t := client.Transport.(*http.Transport)
	t.DialContext, t.TLSClientConfig.InsecureSkipVerify = p.dial, true
	if a.Credential.Kind == Anonymous {
		client.Transport = provenTransport{kubelet: p, next: t}
		return client, nil
	}
	t.TLSClientConfig.VerifyConnection = p.verify
	if a.Credential.cert != nil {
		t.TLSClientConfig.Certificates = []tls.Certificate{*a.Credential.cert}
	}
	if a.Credential.token != "" {
		client.Transport = bearer{token: a.Credential.token, next: t}
	}
	return client, nil
}

// verify compares the server's certificate with those that the kubelet has on disk.
func (p *Process) verify(s tls.ConnectionState) error {
	known := p.servingCertificates()
	switch {
	case len(known) == 0:
		return errNoServingCertificate
	case !slices.ContainsFunc(known, s.PeerCertificates[0].Equal):
		return errUnknownServer
	}
	return nil
}

// embeddedServing are the serving certificates of kubelets that are part of another
// program: their settings are not in its arguments.
var embeddedServing = []string{"/var/lib/rancher/k3s/agent/serving-kubelet.crt", "/var/lib/rancher/rke2/agent/serving-kubelet.crt"}

// servingCertificates returns the certificates on disk that the kubelet may serve with
// (pkg/kubelet/certificate, cmd/kubelet/app/server.go: InitializeTLS).
func (p *Process) servingCertificates() []*x509.Certificate {
	paths := []string{p.settings.config.TLSCertFile}
	if p.settings.certDir != "" {
		paths = append(paths, filepath.Join(p.settings.certDir, "kubelet-server-current.pem"), filepath.Join(p.settings.certDir, "kubelet.crt"))
	}
	if p.settings.embedded {
		paths = append(paths, embeddedServing...)
	}
	var all []*x509.Certificate
	for _, path := range paths {
		if path == "" {
			continue
		}
		content, err := p.files.read(path)
		if err != nil {
			continue // it serves with another one
		}
		all = append(all, certificates(content)...)
	}
	return all
}

// certificates returns the certificates of a PEM file, which may hold keys, too.
func certificates(content []byte) (all []*x509.Certificate) {
	for {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			return all
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, c)
		}
	}
}

// errUnknownServer: the server has none of the certificates that the kubelet has on
// disk; errNoServingCertificate: none of those can be read.
var (
	errUnknownServer        = errors.New("no credential was sent: the server's certificate is not the kubelet's")
	errNoServingCertificate = errors.New("no credential was sent: the kubelet's serving certificate cannot be read")
)
