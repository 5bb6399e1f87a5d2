package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/render"
	"github.com/podctl/podctl/internal/volume"
)

// hostRemains are what podctl's pods have beside the runtime: cgroups,
// directories and logs, below logs.
type hostRemains struct {
	volumes *volume.Manager
	cgroups node.Cgroups
	logs    string
	// step is told of each thing before it is removed; dryRun removes none.
	step   func(call string)
	dryRun bool
}

// remove takes away what is left of a pod that does not run. Its directory is
// removed safely: not across mounts, which are then the error.
func (h hostRemains) remove(ctx context.Context, uid types.UID, namespace, name string) error {
	dir := h.volumes.Dir(uid)
	if _, err := os.Lstat(dir); err == nil {
		h.step("remove " + dir)
		if !h.dryRun {
			if err := h.volumes.Unmount(ctx, uid); err != nil {
				return err
			}
			if err := h.volumes.RemovePod(uid); err != nil {
				return err
			}
		}
	}
	if !h.dryRun {
		if err := h.cgroups.Remove(uid); err != nil {
			return err
		}
	}
	return h.removeLogs(uid, namespace, name)
}

func (h hostRemains) removeLogs(uid types.UID, namespace, name string) error {
	n := render.Node{LogDir: h.logs}
	logs := n.LogDirectory(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}})
	if name == "" || filepath.Dir(logs) != filepath.Clean(h.logs) {
		return nil
	}
	if _, err := os.Lstat(logs); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	h.step("remove " + logs)
	if h.dryRun {
		return nil
	}
	return os.RemoveAll(logs)
}
