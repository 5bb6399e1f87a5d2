package kubelet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// guarded is a kubelet's server that wants a token, and how often it saw one.
type guarded struct {
	*httptest.Server
	tokens int
}

func guard(t *testing.T, token string) *guarded {
	t.Helper()
	g := &guarded{}
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header.Get("Authorization")
		if sent != "" {
			g.tokens++
		}
		if sent != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"kind": "PodList", "items": [{"metadata": {"name": "web"}}]}`)
	}))
	g.Config.ErrorLog = log.New(io.Discard, "", 0) // of refused handshakes
	g.StartTLS()
	t.Cleanup(g.Close)
	return g
}

// process is a kubelet with that server, and files.
func (g *guarded) process(t *testing.T, token string, content map[string][]byte) *Process {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a kubelet is asked in its network namespace")
	}
	n := &Process{PID: os.Getpid(), readToken: func() (string, error) {
		if token == "" {
			return "", fs.ErrNotExist
		}
		return token, nil
	}}
	n.files.read = func(path string) ([]byte, error) {
		if content[path] == nil {
			return nil, fs.ErrNotExist
		}
		return content[path], nil
	}
	_, port, err := net.SplitHostPort(g.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n.settings = settings{certDir: "/pki", config: config{Address: "127.0.0.1"}}
	if n.settings.config.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	return n
}

func (g *guarded) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
}

func TestAskSendsServiceAccountToken(t *testing.T) {
	for _, file := range []string{"/pki/kubelet.crt", "/pki/kubelet-server-current.pem", "/etc/own.crt"} {
		g := guard(t, "secret")
		n := g.process(t, "secret", map[string][]byte{file: g.certificate()})
		n.settings.config.TLSCertFile = "/etc/own.crt"
		l, err := n.pods(t.Context())
		if err != nil || len(l.pods) != 1 || l.by.Credential.Kind != ServiceAccount {
			t.Errorf("%s: %+v, %v", file, l, err)
		}
	}
}

// Whatever listens at the kubelet's address while the kubelet does not must not
// learn the token.
func TestTokenIsNotSentToUnknownServer(t *testing.T) {
	g := guard(t, "secret")
	for want, content := range map[error]map[string][]byte{
		errNoServingCertificate: nil, errUnknownServer: {"/pki/kubelet.crt": otherCertificate},
	} {
		_, err := g.process(t, "secret", content).pods(t.Context())
		if !errors.Is(err, want) || g.tokens > 0 {
			t.Errorf("%v, want %v; %d tokens sent", err, want, g.tokens)
		}
	}
}

func TestAskWithoutCredential(t *testing.T) {
	g := guard(t, "secret")
	_, err := g.process(t, "", nil).pods(t.Context())
	if err == nil || g.tokens > 0 {
		t.Errorf("%v, %d tokens sent", err, g.tokens)
	}
	open := guard(t, "")
	open.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"kind": "PodList", "items": []}`)
	})
	if l, err := open.process(t, "", nil).pods(t.Context()); err != nil || l.by.Credential.Kind != Anonymous {
		t.Errorf("%+v, %v", l.by, err)
	}
	// A wrong token does not keep a server from being asked that needs none.
	n := guard(t, "secret").process(t, "", nil)
	n.settings.config.ReadOnlyPort, n.settings.config.Port = n.settings.config.Port, 0
	if got := len(n.accesses()); got != 1 {
		t.Errorf("%d accesses of a read-only server", got)
	}
}

// Of several ways each is tried, and one that fails is named in the error.
func TestAskErrorNamesCredential(t *testing.T) {
	g := guard(t, "secret")
	n := g.process(t, "wrong", map[string][]byte{
		"/pki/kubelet.crt": g.certificate(), adminCertificate + ".crt": otherCertificate, adminCertificate + ".key": []byte("no key"),
	})
	_, err := n.ask(t.Context(), func(ctx context.Context, client *http.Client, url string) error {
		return errors.New("asked")
	})
	const want = "ask the kubelet: with the service account token: asked\n" +
		"ask the kubelet: with the client certificate " + adminCertificate + ".crt: tls: failed to find any PEM data in key input\n" +
		"ask the kubelet: asked"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// otherCertificate is of no server here.
var otherCertificate = selfSigned()

func selfSigned() []byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
