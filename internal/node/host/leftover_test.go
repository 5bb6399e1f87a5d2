package host

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/volume"
)

type noCgroups struct{}

func (noCgroups) Remove(context.Context, types.UID) error { return nil }

func TestLeftoversOfAPodOnAnotherRuntimeStay(t *testing.T) {
	root := t.TempDir()
	for runtime, stays := range map[string]bool{"mine": false, "other": true} {
		dir := filepath.Join(root, "pods", runtime)
		logs := filepath.Join(root, "logs", "default_web_"+runtime)
		for _, path := range []string{dir, logs} {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := poddir.WriteRecord(dir, poddir.Record{Owner: poddir.OwnerTag("agent", runtime)}); err != nil {
			t.Fatal(err)
		}
		l := Leftovers{Volumes: volume.New(root), Cgroups: noCgroups{}, Logs: filepath.Join(root, "logs"), Runtime: "mine", Step: func(string) {}}
		if err := l.Remove(t.Context(), types.UID(runtime), "default", "web"); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir, logs} {
			if _, err := os.Stat(path); (err == nil) != stays {
				t.Errorf("%s of the runtime %s: %v", filepath.Base(path), runtime, err)
			}
		}
	}
}

// The UIDs of the pods of others are whatever their creator wrote.
func TestUIDThatLeavesTheRootRemovesNothing(t *testing.T) {
	root := t.TempDir()
	other, logs := filepath.Join(root, "other"), filepath.Join(root, "logs")
	for _, dir := range []string{other, logs, filepath.Join(root, "root", "pods")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l := Leftovers{Volumes: volume.New(filepath.Join(root, "root")), Cgroups: noCgroups{}, Logs: logs, Runtime: "mine"}
	l.Step = func(call string) { t.Error(call) }
	for _, uid := range []types.UID{"../../other", "x/../../../other", "x/../../other"} {
		if err := l.Remove(t.Context(), uid, "default", "web"); err != nil {
			t.Errorf("%s: %v", uid, err)
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}
