package ownsocket

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestCloseRemovesItsOwnFileOnly(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(path string) error
		stays     bool
	}{
		"its own":     {func(string) error { return nil }, false},
		"none":        {os.Remove, false},
		"of a second": {func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			own, err := Own(l, path)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.meanwhile(path); err != nil {
				t.Fatal(err)
			}
			if err := own.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(path); (err == nil) != c.stays {
				t.Errorf("at the path: %v", err)
			}
		})
	}
}
