package source

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/testkit/testutil"
)

// followed is a source that is being followed.
type followed struct {
	t  *testing.T
	mu sync.Mutex
	// last is the last update, said all notices so far.
	last *Update
	said []string
}

func follow(t *testing.T, name string, o Options) *followed {
	f := &followed{t: t}
	o.Deliver = func(u Update) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.last = &u
		for _, n := range u.Notices {
			f.said = append(f.said, n.Level.String()+" "+n.Problem.String())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { Follow(ctx, name, o); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

// timeout is how long a test waits for the source.
const timeout = time.Minute

// has waits until the source wants these pods, by name and image.
func (f *followed) has(want ...string) {
	f.t.Helper()
	var got []string
	testutil.Eventually(f.t, timeout, fmt.Sprintf("the source wants %q", want), func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.last != nil {
			got = []string{}
			for _, p := range f.last.Pods {
				got = append(got, p.Name+" "+p.Spec.Containers[0].Image)
			}
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	}, func() string { return fmt.Sprintf("it has %q; said %q", got, f.saidSoFar()) })
}

// says waits until the source has said something that contains the text.
func (f *followed) says(text string) {
	f.t.Helper()
	testutil.Eventually(f.t, timeout, fmt.Sprintf("the source says %q", text), func() bool {
		return slices.ContainsFunc(f.saidSoFar(), func(s string) bool { return strings.Contains(s, text) })
	}, func() string { return fmt.Sprintf("%q", f.saidSoFar()) })
}

func (f *followed) saidSoFar() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.said)
}

func podYAML(name, image string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: c, image: \"" + image + "\"}]}\n"
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hourly: only what notifies is seen.
var hourly = Options{FileCheck: time.Hour, HTTPCheck: time.Hour}

func TestFollowDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "manifests")
	must(t, os.Mkdir(dir, 0o700))
	write(t, filepath.Join(dir, "a.yaml"), podYAML("a", "i:1"))
	f := follow(t, dir, hourly)
	f.has("a i:1")
	write(t, filepath.Join(dir, "b.yaml"), podYAML("b", "i:1"))
	f.has("a i:1", "b i:1")
	// An atomic rename, from an editor's temporary file beside it.
	write(t, filepath.Join(dir, ".a.yaml.swp"), podYAML("a", "i:2"))
	write(t, filepath.Join(dir, "a.yaml~"), podYAML("a", "i:0"))
	write(t, filepath.Join(dir, "#a.yaml#"), podYAML("a", "i:0"))
	must(t, os.Rename(filepath.Join(dir, ".a.yaml.swp"), filepath.Join(dir, "a.yaml")))
	f.has("a i:2", "b i:1")
	write(t, filepath.Join(dir, "b.yaml"), "kind: Pod\napiVersion: v1\nmetadata: {name: b}\nspec: {}\n")
	f.says("b.yaml:4: pod \"b\": spec.containers: Required value")
	f.has("a i:2", "b i:1")
	must(t, os.Remove(filepath.Join(dir, "a.yaml")))
	f.has("b i:1")
	// Away, and back.
	must(t, os.Rename(dir, dir+".away"))
	f.says("no such file or directory")
	f.has("b i:1")
	must(t, os.Mkdir(dir, 0o700))
	f.says("replaced by an empty one")
	f.has("b i:1")
	write(t, filepath.Join(dir, "c.yaml"), podYAML("c", "i:1"))
	f.has("c i:1")
	f.says("is read again")
}

// Whether the changes of a directory wait until nothing has happened for a moment.
func TestNewFilesAreReadOnceWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"had.yaml", "new.yaml", "new.txt", "open.yaml"} {
		write(t, path(name), podYAML("p", "i:1"))
	}
	must(t, os.Symlink("..data/linked.yaml", path("linked.yaml")))
	writer, err := os.OpenFile(path("open.yaml"), os.O_WRONLY, 0)
	must(t, err)
	f := &follower{name: dir, state: State{files: map[string]file{path("had.yaml"): {}, path("gone.yaml"): {}}}}
	at := func(names ...string) bool {
		touched := map[string]bool{}
		for _, name := range names {
			touched[name] = true
		}
		return f.arrived(touched)
	}
	for name, want := range map[string]bool{
		"new.yaml":    runtime.GOOS == "linux",
		"open.yaml":   false, // it is being written
		"had.yaml":    false, // its pods may be running
		"gone.yaml":   false, // an editor may be about to make it again
		"new.txt":     false,
		"linked.yaml": false, // ..data is yet to come
	} {
		if got := at(name); got != want {
			t.Errorf("%s: arrived %t, want %t", name, got, want)
		}
	}
	if at("new.yaml", "had.yaml") || at() || at("new.yaml", "") {
		t.Error("a change that is not known to be complete is read at once")
	}
	must(t, writer.Close())
	if at("open.yaml") != (runtime.GOOS == "linux") {
		t.Error("a file that was written is waited for")
	}
}

// A ConfigMap that Kubernetes mounts: links to ..data, which is swapped.
func TestFollowMountedConfigMap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := func(name string, pods ...string) {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		for _, pod := range pods {
			write(t, filepath.Join(dir, name, pod+".yaml"), podYAML(pod, "i:v"+strings.Trim(name, ".")))
		}
		must(t, os.Symlink(name, filepath.Join(dir, "..data_tmp")))
		must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	version("..1", "a", "b")
	must(t, os.Symlink("..data/a.yaml", filepath.Join(dir, "a.yaml")))
	must(t, os.Symlink("..data/b.yaml", filepath.Join(dir, "b.yaml")))
	f := follow(t, dir, hourly)
	f.has("a i:v1", "b i:v1")
	version("..2", "a", "b")
	f.has("a i:v2", "b i:v2")
	version("..3", "a") // b.yaml dangles until its link goes
	f.says("b.yaml: read: no such file")
	f.has("a i:v3", "b i:v2")
	must(t, os.Remove(filepath.Join(dir, "b.yaml")))
	f.has("a i:v3")
}

// A link that is turned to another directory, as git-sync does.
func TestFollowDirectoryLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, version := range []string{"1", "2"} {
		must(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		write(t, filepath.Join(dir, version, "a.yaml"), podYAML("a", "i:"+version))
	}
	link := filepath.Join(dir, "current")
	must(t, os.Symlink("1", link))
	f := follow(t, link, hourly)
	f.has("a i:1")
	must(t, os.Symlink("2", link+"_"))
	must(t, os.Rename(link+"_", link))
	f.has("a i:2")
	write(t, filepath.Join(dir, "2", "b.yaml"), podYAML("b", "i:2"))
	f.has("a i:2", "b i:2")
}

// Nothing notifies of a change behind a link; the ticker finds it.
func TestPollWithoutNotification(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "a.yaml")
	write(t, elsewhere, podYAML("a", "i:1"))
	must(t, os.Symlink(elsewhere, filepath.Join(dir, "a.yaml")))
	f := follow(t, dir, Options{FileCheck: 50 * time.Millisecond})
	f.has("a i:1")
	write(t, elsewhere, podYAML("a", "i:2"))
	f.has("a i:2")
}

func TestFollowURL(t *testing.T) {
	t.Parallel()
	var body atomic.Value
	var status, served, unchanged atomic.Int32
	body.Store(podYAML("a", "i:1"))
	status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := body.Load().(string)
		tag := `"` + text[len(text)-12:] + `"`
		switch {
		case status.Load() != http.StatusOK:
			w.WriteHeader(int(status.Load()))
		case r.Header.Get("If-None-Match") != "" && strings.Contains(text, "i:1"):
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
		default:
			served.Add(1)
			w.Header().Set("ETag", tag)
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(server.Close)
	f := follow(t, strings.Replace(server.URL, "http://", "http://me:secret@", 1)+"/pods.yaml", Options{HTTPCheck: 20 * time.Millisecond})
	f.has("a i:1")
	testutil.Eventually(t, timeout, "the source asks three more times", func() bool { return unchanged.Load() >= 3 })
	if served.Load() != 1 {
		t.Errorf("served %d times what had not changed", served.Load())
	}
	body.Store(podYAML("a", "i:2"))
	f.has("a i:2")
	status.Store(http.StatusNotFound)
	f.says("the server answered 404 Not Found")
	f.has("a i:2")
	status.Store(http.StatusOK)
	f.says("is read again")
	f.has("a i:2")
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.said {
		if strings.Contains(s, "secret") {
			t.Errorf("the password is shown: %s", s)
		}
	}
}

// Of a source of configuration only objects are taken, as they change.
// silentTransport answers after a time.
type silentTransport struct {
	after time.Duration
	body  string
}

func (s silentTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.after):
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(s.body))}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func TestURLThatDoesNotAnswerIsDeliveredAsUnread(t *testing.T) {
	for _, c := range []struct {
		name        string
		answer      time.Duration
		objectsOnly bool
		want        string
	}{
		{"at once", 0, false, "0s whole [a]"},
		{"late", 3 * time.Second, false, "1s partial []; 3s whole [a]"},
		{"never", time.Hour, false, "1s partial []; 30s partial []"},
		{"objects alone", 3 * time.Second, true, "3s whole []"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
			defer cancel()
			start := time.Now()
			var got []string
			Follow(ctx, "http://a.test/pods", Options{
				Load: manifest.LoadOptions{HTTP: &http.Client{Transport: silentTransport{c.answer, podYAML("a", "i:1")}}}, HTTPCheck: time.Hour, ObjectsOnly: c.objectsOnly,
				Deliver: func(u Update) {
					names := []string{}
					for _, p := range u.Pods {
						names = append(names, p.Name)
					}
					got = append(got, fmt.Sprint(time.Since(start), map[bool]string{true: " partial ", false: " whole "}[u.Partial], names))
				},
			})
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("%s: %s, want %s", c.name, s, c.want)
			}
		})
	}
}

func TestFollowObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "all.yaml")
	config := func(value string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {k: " + value + "}\n"
	}
	write(t, path, podYAML("a", "i:1")+config("one"))
	write(t, filepath.Join(dir, "pod.yaml"), podYAML("b", "i:1"))
	f := follow(t, dir, Options{FileCheck: time.Hour, ObjectsOnly: true})
	value := func() string {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.last == nil || len(f.last.Pods) > 0 {
			return ""
		}
		if m := f.last.Objects.ConfigMap("default", "m"); m != nil {
			return m.Data["k"]
		}
		return ""
	}
	for _, want := range []string{"one", "two"} {
		write(t, path, podYAML("a", "i:1")+config(want))
		testutil.Eventually(t, timeout, fmt.Sprintf("the ConfigMap has %q", want), func() bool { return value() == want },
			func() string { return fmt.Sprintf("it has %q; said %q", value(), f.saidSoFar()) })
	}
	if len(f.said) > 0 {
		t.Errorf("said %q", f.said)
	}
}

// The trees of what was written take several times the memory of the pods, for as long
// as the source is followed.
func TestSourceDropsParsedTrees(t *testing.T) {
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: x}]}\n"
	set, err := Options{}.parse(t.Context(), "a.yaml", []byte(pod+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, d := set.Pods[0], set.Documents[0]
	if p.Line != 1 || len(p.Document) == 0 || p.Spec.Containers[0].Image != "x" || d.Line != 6 {
		t.Errorf("pod %+v of line %d, ConfigMap of line %d", p.Pod, p.Line, d.Line)
	}
	if line, uses := p.LineOf("spec.containers"), append(p.Uses(), d.Uses()...); line != 0 || uses != nil {
		t.Errorf("spec.containers in line %d, uses %v", line, uses)
	}
}

// A file that comes first by name does not replace an object of a file that was read before.
func TestFollowedObjectKeepsItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := func(value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {k: " + value + "}\n"
	}
	write(t, filepath.Join(dir, "b.yaml"), config("first")+"---\n"+podYAML("p", "i:1"))
	f := follow(t, dir, hourly)
	f.has("p i:1") // it was read
	write(t, filepath.Join(dir, "a.yaml"), config("second"))
	f.says("a.yaml:1: ConfigMap default/m is already defined at " + filepath.Join(dir, "b.yaml") + ":1, which takes precedence")
	f.mu.Lock()
	defer f.mu.Unlock()
	if got := f.last.Objects.ConfigMap("default", "m").Data["k"]; got != "first" {
		t.Errorf("k is %q", got)
	}
}
