package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/sys/hint"
)

// NewFile is a file that a command writes.
type NewFile struct {
	io.WriteCloser
	// Name is that of the file, - for standard output.
	Name string
}

// CreateFile creates a file that only its owner can read, or returns standard output for -. It
// follows no link and replaces nothing: the directory may be everybody's.
func CreateFile(e *Env, name string) (*NewFile, error) {
	if name == "-" {
		if e.TTY {
			return nil, &UsageError{Message: "standard output is a terminal, and the output is an archive", Advice: "-o FILE.tgz"}
		}
		return &NewFile{keptOpen{output.Raw(e.Out)}, name}, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, hint.Errorf("remove it, or name another file", "%s exists", name)
	}
	return &NewFile{f, name}, err
}

// Finish closes the file, and removes it if err says that it is not complete.
func (f *NewFile) Finish(err error) error {
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("write %s: %w", f.Name, closeErr)
	}
	if err != nil && f.Name != "-" {
		_ = os.Remove(f.Name) // err says more
	}
	return err
}

// keptOpen is a writer that outlives its use.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }
