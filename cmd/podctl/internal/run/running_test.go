package run

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/serve/daemon"
)

// The log is of the attempt that failed.
func TestAFailureShowsTheLastLinesOfItsAttempt(t *testing.T) {
	logs := t.TempDir()
	dir := filepath.Join(logs, "default_web_u1", "web")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"0.log": "old", "1.log": "new \x1b[2J"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("2026-03-01T12:00:00.0Z stdout F "+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &running{
		session: &daemon.Session{Facts: &render.Node{LogDir: logs}},
		masked:  func(uid types.UID, text string) string { return text + " of " + string(uid) },
	}
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}
	got := r.said(node.Info{Pod: p}, v1.ContainerStatus{Name: "web", RestartCount: 1})
	if want := []string{"new \ufffd[2J of u1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
