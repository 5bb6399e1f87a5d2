package volume

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

// claimDataName lies beside the directories of the namespaces, as claimLocksName does.
const claimDataName = ".data"

// keepData records where the data of a claim is, or returns an error if that is elsewhere,
// or if the data of another claim is there: what binds claims does not remember, and binds
// them anew with each volume and claim that is declared. A claim or a volume that names the
// other decides. The lock of the claim is held.
//
//	<root>/claims/.data/NAMESPACE/NAME    a symlink to the directory
func keepData(r request, object *v1.PersistentVolumeClaim, bound pod.Binding) error {
	dir := filepath.Join(claimsDir(r.pods), claimDataName)
	own := filepath.Join(dir, r.pod.Namespace, r.volume.PersistentVolumeClaim.ClaimName)
	was, err := os.Readlink(own)
	switch {
	case err == nil && was == r.path:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	const advice = "name the volume: spec.volumeName of the claim, or spec.claimRef of the volume"
	if chosen := object.Spec.VolumeName == "" && (bound.Volume == nil || bound.Volume.Spec.ClaimRef == nil); chosen {
		if was != "" && !isEmpty(was) {
			return hint.Errorf(advice, "the data of persistentvolumeclaim %q is in %s, and it would be bound to %s now", object.Name, was, r.path)
		}
		others, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*", "*"))
		if err != nil {
			return err
		}
		for _, other := range others {
			if at, err := os.Readlink(other); err == nil && at == r.path {
				of, name := filepath.Split(other)
				return hint.Errorf(advice, "the data of persistentvolumeclaim %q is in %s, to which persistentvolumeclaim %q would be bound now",
					pod.DisplayName(filepath.Base(of), name), r.path, object.Name)
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		return err
	}
	if err := os.Remove(own); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("record where the data of a claim is: %w", err)
	}
	return os.Symlink(r.path, own)
}

// isEmpty reports whether a directory holds nothing, or is not there.
func isEmpty(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = d.Close() }() // it is only read
	_, err = d.Readdirnames(1)
	return errors.Is(err, io.EOF)
}
