package podrecord

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/podctl/podctl/internal/atomicfile"
	"github.com/podctl/podctl/internal/boundedfile"
)

// File is the name of the record in the pod's directory.
const File = "podctl.json"

// maxSize bounds a record, in bytes.
const maxSize = 1 << 20

// Read returns the record in a pod's directory; the zero Record if there is none
// or it cannot be read.
func Read(podDir string) Record {
	var r Record
	b, err := boundedfile.Read(filepath.Join(podDir, File), maxSize)
	if err != nil || json.Unmarshal(b, &r) != nil {
		return Record{}
	}
	return r
}

// Write replaces the record in a pod's directory in one step. The error is
// fs.ErrNotExist for a pod without a directory: nothing was done for it yet, so
// there is nothing to record.
func Write(podDir string, r Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write pod record: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(podDir, File), append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write pod record: %w", err)
	}
	return nil
}

// Sign writes the first record of a pod's directory, which it makes, without
// waiting for the disk: a record that is lost with the machine stops no pod.
func Sign(podDir string, r Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write pod record: %w", err)
	}
	if err := os.MkdirAll(podDir, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(podDir, File), append(b, '\n'), 0o600)
}

// Create is Write, and makes the pod's directory if there is none.
func Create(podDir string, r Record) error {
	if err := os.MkdirAll(podDir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return Write(podDir, r)
}
