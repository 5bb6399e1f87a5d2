package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/node/volume"
)

// Leftovers removes the files that podctl's pods leave beside the runtime:
// cgroups, directories and logs.
type Leftovers struct {
	Volumes *volume.Manager
	Cgroups interface {
		Remove(context.Context, types.UID) error
	}
	// Logs is the directory of all logs.
	Logs string
	// Runtime is the id of the pods' runtime: a directory that is recorded for
	// another one stays, and the logs with it.
	Runtime string
	// Step is called before each removal; DryRun removes nothing.
	Step   func(call string)
	DryRun bool
}

// Remove removes the leftover files of a pod that does not run. It does not
// cross mounts: a directory with one in it is an error.
func (l Leftovers) Remove(ctx context.Context, uid types.UID, namespace, name string) error {
	if l.Volumes.Has(uid) {
		dir := l.Volumes.Dir(uid)
		if other := poddir.ReadRecord(dir).Runtime(); other != "" && other != l.Runtime {
			if l.DryRun {
				return nil
			}
			return l.Cgroups.Remove(ctx, uid)
		}
		l.Step("remove " + dir)
		if !l.DryRun {
			if err := l.Volumes.Unmount(ctx, uid); err != nil {
				return err
			}
			if err := l.Volumes.RemovePod(ctx, uid); err != nil {
				return err
			}
		}
	}
	if !l.DryRun {
		if err := l.Cgroups.Remove(ctx, uid); err != nil {
			return err
		}
	}
	return l.removeLogs(uid, namespace, name)
}

func (l Leftovers) removeLogs(uid types.UID, namespace, name string) error {
	n := render.Node{LogDir: l.Logs, DirName: func(uid types.UID) string { return filepath.Base(l.Volumes.Dir(uid)) }}
	logs := n.LogDirectory(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}})
	if name == "" {
		return nil
	}
	if _, err := os.Lstat(logs); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	l.Step("remove " + logs)
	if l.DryRun {
		return nil
	}
	return os.RemoveAll(logs)
}
