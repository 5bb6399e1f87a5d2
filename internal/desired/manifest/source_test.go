package manifest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// podNamed is a small manifest.
func podNamed(name string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: c, image: x}]}\n"
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func names(set *Set) string {
	var all []string
	for _, p := range set.Pods {
		all = append(all, p.Name)
	}
	return strings.Join(all, " ")
}

func TestDirectoryIsReadSortedAndNotRecursively(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/c.json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"},"spec":{"containers":[{"name":"c","image":"x"}]}}`)
	write(t, dir+"/b.yml", podNamed("b"))
	write(t, dir+"/a.yaml", podNamed("a"))
	write(t, dir+"/.hidden.yaml", "{")
	write(t, dir+"/notes.txt", "{")
	write(t, dir+"/sub.yaml/d.yaml", "{")
	if err := os.Symlink(write(t, t.TempDir()+"/target", podNamed("linked")), dir+"/d.yaml"); err != nil {
		t.Fatal(err)
	}
	set, err := Load(t.Context(), []string{dir}, LoadOptions{})
	if err != nil || names(set) != "a b c linked" {
		t.Errorf("got %q, %v", names(set), err)
	}
}

func TestEmptyInputIsNoError(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n---\n...\n", "null\n", "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[null]}"} {
		if set, err := Load(t.Context(), []string{"-"}, from(text)); err != nil || len(set.Pods) != 0 {
			t.Errorf("%q: %d pods, %v", text, len(set.Pods), err)
		}
	}
	if set, err := Load(t.Context(), []string{t.TempDir()}, LoadOptions{}); err != nil || len(set.Pods) != 0 {
		t.Errorf("empty directory: %v", err)
	}
}

func TestUnreadableSourcesAreProblems(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir+"/good.yaml", podNamed("good"))
	big := write(t, dir+"/big.yaml", "a: "+strings.Repeat("x", maxSource))
	write(t, dir+"/m/x.yaml", podNamed("x"))
	if err := os.Symlink("nowhere", dir+"/m/dangling.yaml"); err != nil {
		t.Fatal(err)
	}
	set, err := Load(t.Context(), []string{dir + "/missing", good, big, "-", dir + "/m"}, LoadOptions{})
	if names(set) != "good x" {
		t.Errorf("pods: %q", names(set))
	}
	want := []string{
		dir + "/big.yaml: read: larger than 10 MiB",
		dir + "/m/dangling.yaml: read: no such file or directory",
		dir + "/missing: read: no such file or directory",
		"stdin: read: there is no standard input",
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got:\n%v\nwant:\n%s", err, strings.Join(want, "\n"))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
}

func TestURL(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/web.yaml":
			_, _ = io.WriteString(w, podNamed("web"))
		case "/big":
			_, _ = io.WriteString(w, strings.Repeat("x", maxSource+1))
		case "/hang":
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	set, err := Load(t.Context(), []string{server.URL + "/web.yaml"}, LoadOptions{HTTP: server.Client()})
	if err != nil || names(set) != "web" || set.Pods[0].File != server.URL+"/web.yaml" {
		t.Errorf("got %q, %v", names(set), err)
	}
	withPassword := strings.Replace(server.URL, "http://", "http://me:secret@", 1)
	_, err = Load(t.Context(), []string{withPassword + "/nothing", server.URL + "/big"}, LoadOptions{})
	if err == nil || strings.Contains(err.Error(), "me:") || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), "404 Not Found") || !strings.Contains(err.Error(), "larger than 10 MiB") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, []string{server.URL + "/hang"}, LoadOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A pipe without a writer must not delay Ctrl-C.
func TestReadPipeCancel(t *testing.T) {
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, []string{"-"}, LoadOptions{Stdin: r}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
