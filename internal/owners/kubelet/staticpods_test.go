package kubelet

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/internal/sys/bounded"
)

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const web = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n"

func TestReadStaticPods(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "web.yaml", web)
	write(t, dir, "db.json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"db","namespace":"data","uid":"u"}}`)
	write(t, dir, ".hidden", "not: [yaml")
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	pods, err := ReadStaticPods(dir, "Node-1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range pods {
		got = append(got, p.Namespace+"/"+p.Name+" "+string(p.UID))
	}
	if want := []string{"data/db-node-1 ", "default/web-node-1 "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadStaticPodsInvalidFile(t *testing.T) {
	for name, content := range map[string]string{"broken": "a: [", "no pod": "kind: Service\nmetadata: {name: a}\n", "no name": "kind: Pod\n"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "a.yaml", web)
			write(t, dir, "b.yaml", content)
			if pods, err := ReadStaticPods(dir, "n"); err == nil || len(pods) > 0 {
				t.Errorf("got %d pods, error %v; want an error only", len(pods), err)
			}
		})
	}
}

// A file that grows without end, or that blocks who opens it, is not read.
func TestReadStaticPodsLimits(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "web.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n")
	if pods, err := ReadStaticPods(dir, "node"); err != nil || len(pods) != 1 {
		t.Errorf("beside a FIFO: %d pods, %v", len(pods), err)
	}
	bomb := write(t, dir, "bomb.yaml", `a: &a "`+strings.Repeat("x", 1<<20)+"\"\nb: ["+strings.Repeat("*a,", 100)+"]\n")
	if _, err := ReadStaticPods(dir, "node"); err == nil || !strings.Contains(err.Error(), "bomb.yaml: line 2: the aliases of the document stand for more than 10 MiB") {
		t.Errorf("a file whose aliases stand for 100 MiB: %v", err)
	}
	if err := os.Remove(bomb); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(write(t, dir, "sparse.yaml", ""), 1<<40); err != nil {
		t.Fatal(err)
	}
	_, err := ReadStaticPods(dir, "node")
	if _, large := errors.AsType[*bounded.TooLargeError](err); !large {
		t.Errorf("a file of a terabyte: %v", err)
	}
}
