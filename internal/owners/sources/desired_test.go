package sources_test

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/sources"
)

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func names(a sources.Answer) []string {
	var all []string
	for _, p := range a.Pods {
		all = append(all, p.Namespace+"/"+p.Name+" "+string(p.UID))
	}
	return all
}

const web = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n"

// The UIDs of static pods are not known: they are compared by name.
func TestStatic(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "web.yaml", web)
	if a := sources.Static(dir, "Node-1"); a.Err != nil || !a.ByName || a.Source != dir || !slices.Equal(names(a), []string{"default/web-node-1 "}) {
		t.Errorf("got %+v", a)
	}
	write(t, dir, "broken", "a: [")
	if a := sources.Static(dir, "Node-1"); a.Err == nil || len(a.Pods) > 0 {
		t.Errorf("got %d pods, error %v; want an error only", len(a.Pods), a.Err)
	}
}

// What podctl refuses to run is desired all the same.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "good.yaml", strings.Replace(web, "spec: {", "spec: {volumes: [{name: v, nfs: {server: s, path: /p}}], ", 1))
	if a := sources.Files(t.Context(), nil, good); a.Err != nil || len(a.Pods) != 1 || a.Pods[0].UID == "" || !a.MadeUp[a.Pods[0].UID] {
		t.Errorf("got %+v", a)
	}
	bad := write(t, dir, "bad.yaml", strings.Replace(web, "image", "imgae", 1))
	if a := sources.Files(t.Context(), nil, good, bad); a.Err == nil || len(a.Pods) > 0 {
		t.Errorf("got %d pods, error %v; want an error only", len(a.Pods), a.Err)
	}
}

// podsServer answers requests with the token with two pods, and records the
// paths.
func podsServer(t *testing.T, start func(http.Handler) *httptest.Server, token string) (*httptest.Server, *[]string) {
	t.Helper()
	var asked []string
	list := v1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []v1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "kube", Name: "mirror", UID: "u2", Annotations: map[string]string{v1.MirrorPodAnnotationKey: "hash"}}},
	}}
	s := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		switch {
		case token != "" && r.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(r.URL.Path, "/nodes/"):
			_ = json.NewEncoder(w).Encode(v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
		default:
			_ = json.NewEncoder(w).Encode(list)
		}
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

func TestKubelet(t *testing.T) {
	s, asked := podsServer(t, httptest.NewServer, "")
	a := sources.Kubelet(kubelet.Options{URL: s.URL + "/"}.Ask(t.Context(), nil, kubelet.Question{}))
	if a.Err != nil || a.ByName {
		t.Fatalf("got %+v", a)
	}
	if got, want := names(a), []string{"default/web u1", "kube/mirror u2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []string{"/pods"}; !slices.Equal(*asked, want) {
		t.Errorf("asked %q, want %q", *asked, want)
	}
}

func TestKubeletToken(t *testing.T) {
	s, _ := podsServer(t, httptest.NewTLSServer, "secret")
	token := write(t, t.TempDir(), "token", "secret\n")
	if a := sources.Kubelet(kubelet.Options{URL: s.URL, TokenFile: token}.Ask(t.Context(), nil, kubelet.Question{})); a.Err != nil || len(a.Pods) != 2 {
		t.Errorf("with the token: %+v", a)
	}
	a := sources.Kubelet(kubelet.Options{URL: s.URL}.Ask(t.Context(), nil, kubelet.Question{}))
	if a.Err == nil || len(a.Pods) > 0 || strings.Contains(a.Err.Error(), "secret") {
		t.Errorf("without the token: %+v", a)
	}
}

func TestKubeletTokenRequiresHTTPS(t *testing.T) {
	plain, asked := podsServer(t, httptest.NewServer, "")
	token := write(t, t.TempDir(), "token", "secret")
	if a := sources.Kubelet(kubelet.Options{URL: plain.URL, TokenFile: token}.Ask(t.Context(), nil, kubelet.Question{})); a.Err == nil || len(*asked) > 0 {
		t.Errorf("by http: %v, asked %q", a.Err, *asked)
	}
	// An unverified certificate is accepted on the loopback only; with a CA it is
	// verified there, too.
	s, asked := podsServer(t, httptest.NewTLSServer, "secret")
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	ca := write(t, t.TempDir(), "ca", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	if a := sources.Kubelet(kubelet.Options{URL: s.URL, TokenFile: token, CAFile: ca}.Ask(t.Context(), nil, kubelet.Question{})); a.Err != nil {
		t.Errorf("with its own CA: %v", a.Err)
	}
	asked2 := len(*asked)
	wrong := write(t, t.TempDir(), "ca", "nothing")
	if a := sources.Kubelet(kubelet.Options{URL: s.URL, TokenFile: token, CAFile: wrong}.Ask(t.Context(), nil, kubelet.Question{})); a.Err == nil || len(*asked) != asked2 {
		t.Errorf("with a CA file of no use: %v", a.Err)
	}
}

func TestKubeletAnswerMustBePodList(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"other JSON": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"kind":"Status"}`) },
		"no JSON":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<html>`) },
		"not there":  http.NotFound,
		"elsewhere":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/pods2", http.StatusFound) },
		"cut short":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"kind":"PodList","items":[{`) },
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(handler)
			defer s.Close()
			if a := sources.Kubelet(kubelet.Options{URL: s.URL}.Ask(t.Context(), nil, kubelet.Question{})); a.Err == nil || len(a.Pods) > 0 {
				t.Errorf("got %d pods, error %v; want an error only", len(a.Pods), a.Err)
			}
		})
	}
}

// clusterAt is the cluster of a server.
func clusterAt(t *testing.T, url string) *sources.Cluster {
	t.Helper()
	kubeconfig := write(t, t.TempDir(), "config", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"a",
		"clusters":[{"name":"a","cluster":{"server":%q}}],"users":[{"name":"a","user":{}}],
		"contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}]}`, url))
	c, err := sources.OpenCluster(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClusterPods(t *testing.T) {
	s, asked := podsServer(t, httptest.NewServer, "")
	c := clusterAt(t, s.URL)
	a := c.Pods(t.Context(), "n1")
	if a.Err != nil || len(a.Pods) != 2 || a.Pods[1].UID != types.UID("hash") {
		t.Errorf("a mirror pod keeps its own UID: %q, %v", names(a), a.Err)
	}
	n, err := c.Node(t.Context(), "n1")
	if err != nil || n.Name != "n1" {
		t.Errorf("node: %v, %v", n, err)
	}
	if want := []string{"/api/v1/nodes/n1", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", "/api/v1/nodes/n1"}; !slices.Equal(*asked, want) {
		t.Errorf("asked %q, want %q", *asked, want)
	}
}

// An API server lists no pods for a node that it does not have, which says nothing
// about those of this machine.
func TestClusterPodsWithoutNode(t *testing.T) {
	assigned := v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}
	run := *assigned.DeepCopy()
	run.Status.StartTime = new(metav1.Unix(1, 0))
	for _, c := range []struct {
		name string
		node int
		pods []v1.Pod
		err  string
	}{
		{"the node, without pods", http.StatusOK, nil, ""},
		{"no such node", http.StatusNotFound, nil, `the cluster has no node "n1"`},
		{"no such node, to which a pod is bound", http.StatusNotFound, []v1.Pod{assigned}, `the cluster has no node "n1"`},
		{"a node that may not be read, without pods", http.StatusForbidden, nil, "403 Forbidden"},
		{"a node that may not be read, whose kubelet runs none", http.StatusForbidden, []v1.Pod{assigned}, "403 Forbidden"},
		{"a node that may not be read, whose kubelet runs a pod", http.StatusForbidden, []v1.Pod{assigned, run}, ""},
		{"another failure", http.StatusServiceUnavailable, []v1.Pod{run}, "503 Service Unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/nodes/") {
					w.WriteHeader(c.node)
					_ = json.NewEncoder(w).Encode(v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
					return
				}
				_ = json.NewEncoder(w).Encode(v1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: c.pods})
			}))
			defer s.Close()
			a := clusterAt(t, s.URL).Pods(t.Context(), "n1")
			if c.err == "" {
				if a.Err != nil || len(a.Pods) != len(c.pods) {
					t.Errorf("%d pods, %v", len(a.Pods), a.Err)
				}
				return
			}
			if a.Err == nil || len(a.Pods) > 0 || !strings.Contains(a.Err.Error(), c.err) {
				t.Fatalf("%d pods, %v, want %q", len(a.Pods), a.Err, c.err)
			}
			var hinted interface{ Hint() string }
			if c.node != http.StatusServiceUnavailable && (!errors.As(a.Err, &hinted) || !strings.Contains(hinted.Hint(), "--node NAME")) {
				t.Errorf("%v has no hint that names --node", a.Err)
			}
		})
	}
}

// The kubelet registers the node under its name, in lower case.
func TestNodeName(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ named, kubelets, want string }{
		{"Named", "override", "Named"}, {"", "Override ", "override"}, {"", "", strings.ToLower(strings.TrimSpace(host))},
	} {
		got, err := sources.Sources{Node: c.named}.NodeName(&kubelet.Process{NodeName: c.kubelets})
		if err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if got, err := (sources.Sources{}).NodeName(nil); err != nil || got != strings.ToLower(host) {
		t.Errorf("without a kubelet: %q, %v", got, err)
	}
}

func TestErrorsHidePasswordOfURL(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	address := strings.Replace(server.URL, "http://", "http://me:hunter2@", 1)
	answers := map[string]sources.Answer{
		"manifests": sources.Files(t.Context(), nil, address),
		"no server": sources.Files(t.Context(), nil, "http://me:hunter2@127.0.0.1:1/x"),
		"malformed": sources.Files(t.Context(), nil, "http://me:hunter2@[x"),
		"kubelet":   sources.Kubelet(kubelet.Options{URL: address}.Ask(t.Context(), nil, kubelet.Question{})),
	}
	for name, a := range answers {
		if text := fmt.Sprint(a.Source, a.Err); a.Err == nil || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
