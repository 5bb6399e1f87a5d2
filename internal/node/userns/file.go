package userns

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/atomicfile"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// fileName is the file in a pod's directory that says its range.
const fileName = "userns"

// maxFile bounds that file, in bytes.
const maxFile = 64 << 10

// mapping and mappings are the file's content.
type mapping struct {
	HostID      uint32 `json:"hostId"`
	ContainerID uint32 `json:"containerId"`
	Length      uint32 `json:"length"`
}

type mappings struct {
	UIDs []mapping `json:"uidMappings"`
	GIDs []mapping `json:"gidMappings"`
}

// errNoDirectory: what lies among the pods' directories is none.
var errNoDirectory = error(unix.ENOTDIR)

// read gives the start of the range in the pod's directory.
func read(podDir string) (first uint32, err error) {
	path := filepath.Join(podDir, fileName)
	b, err := bounded.Read(path, maxFile)
	if err != nil {
		return 0, err
	}
	var m mappings
	if err := json.Unmarshal(b, &m); err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	if err := m.check(); err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return m.UIDs[0].HostID, nil
}

// check refuses what podctl would not have written.
func (m mappings) check() error {
	if len(m.UIDs) != 1 || len(m.GIDs) != 1 || m.UIDs[0] != m.GIDs[0] {
		return errors.New("not one range for both users and groups")
	}
	switch of := m.UIDs[0]; {
	case of.ContainerID != 0:
		return errors.New("it does not begin with id 0")
	case of.Length != Length:
		return fmt.Errorf("%d ids are not %d", of.Length, Length)
	case of.HostID < Length || of.HostID%Length != 0:
		return fmt.Errorf("%d is not where a range begins", of.HostID)
	}
	return nil
}

// write stores the range in the pod's directory, durably: after a crash the
// file holds all of it or does not exist.
func write(podDir string, first uint32) error {
	m := []mapping{{HostID: first, ContainerID: 0, Length: Length}}
	b, err := json.Marshal(mappings{UIDs: m, GIDs: m})
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(podDir, fileName), b, 0o600); err != nil {
		return err
	}
	return atomicfile.SyncDir(podDir)
}
