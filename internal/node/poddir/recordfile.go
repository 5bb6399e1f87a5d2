package poddir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/podctl/podctl/internal/sys/atomicfile"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// RecordFile is the name of the record in the pod's directory.
const RecordFile = "podctl.json"

// maxSize bounds a record, in bytes.
const maxSize = 1 << 20

// ReadRecord returns the record in a pod's directory; the zero Record if there is none
// or it cannot be read.
func ReadRecord(podDir string) Record {
	var r Record
	b, err := bounded.Read(filepath.Join(podDir, RecordFile), maxSize)
	if err != nil || json.Unmarshal(b, &r) != nil {
		return Record{}
	}
	return r
}

// HasRecord reports whether a pod's directory has a record.
func HasRecord(podDir string) bool {
	_, err := os.Lstat(filepath.Join(podDir, RecordFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// WriteRecord replaces the record in a pod's directory in one step. The error is
// fs.ErrNotExist for a pod without a directory: nothing was done for it yet, so
// there is nothing to record.
func WriteRecord(podDir string, r Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write pod record: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(podDir, RecordFile), append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write pod record: %w", err)
	}
	return nil
}

// TakenError says that a pod's directory is that of a pod on another runtime.
type TakenError struct{ Dir, Owner string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("the directory %s belongs to a pod on another runtime (podctl %s)", e.Dir, e.Owner)
}

// SignRecord makes a pod's directory with its first record in it, or writes the record
// into the directory if there is one that is not another runtime's. The error is
// then a *TakenError; of two processes that sign a directory at once one gets it. The
// disk is not waited for: a record that is lost with the machine stops no pod.
func SignRecord(podDir string, r Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write pod record: %w", err)
	}
	b = append(b, '\n')
	if err := os.MkdirAll(filepath.Dir(podDir), 0o750); err != nil {
		return err
	}
	aside, err := os.MkdirTemp(filepath.Dir(podDir), ".sign-")
	if err != nil {
		return err
	}
	err = errors.Join(os.Chmod(aside, 0o750), os.WriteFile(filepath.Join(aside, RecordFile), b, 0o600))
	if err == nil {
		err = os.Rename(aside, podDir)
	}
	if err == nil {
		return nil
	}
	_ = os.RemoveAll(aside) // at worst a small file is left
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if there := ReadRecord(podDir); there.IsElsewhere(r.Runtime(), r.RuntimeFingerprint) {
		return &TakenError{Dir: podDir, Owner: there.Owner}
	}
	return atomicfile.Replace(filepath.Join(podDir, RecordFile), b, 0o600) // a full disk leaves the earlier one
}

// CreateRecord is WriteRecord, and makes the pod's directory if there is none. It leaves no
// empty one: nothing would say whose it is.
func CreateRecord(podDir string, r Record) error {
	if err := os.MkdirAll(podDir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	err := WriteRecord(podDir, r)
	if err != nil {
		_ = os.Remove(podDir) // which fails if something is in it
	}
	return err
}
