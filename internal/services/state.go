package services

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/podctl/podctl/internal/sys/atomicfile"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// maxState bounds the state file, in bytes: 10,000 pods take some megabytes.
const maxState = 64 << 20

// StateFile returns the file in podctl's run directory in which the process that serves has written what it
// knows of all processes: the next one that serves keeps the addresses of pods that run.
func StateFile(runDir string) string { return filepath.Join(runDir, "services.json") }

// load adds what the process that served before had written, if that can be read.
func (o *peers) load(file string) {
	content, err := bounded.ReadNoFollow(file, maxState)
	was := map[string]*peer{}
	if err == nil {
		err = json.Unmarshal(content, &was)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.log.Warn("Services of processes that have exited are not served", "err", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, k := range was {
		if k != nil && o.known[key] == nil {
			k.Last, k.exited = k.Last.withoutNil(), true
			o.known[key] = k
		}
	}
}

// save writes the state file, which load reads.
func (o *peers) save(file string, own *peer) {
	o.mu.Lock()
	all := map[string]peer{o.own: *own}
	for key, k := range o.known {
		if !k.At.IsZero() {
			all[key] = *k
		}
	}
	o.mu.Unlock()
	content, err := json.Marshal(all)
	if err == nil {
		err = atomicfile.Replace(file, content, 0o600)
	}
	if err != nil {
		o.log.Warn("after a kill of this process the Services are not served that only it has", "err", err)
	}
}

func removeState(file string) error {
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
