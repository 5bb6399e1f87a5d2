package services

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/sys/atomicfile"
	"github.com/podctl/podctl/internal/sys/bounded"
)

const (
	// silence is after how long a process counts as silent that has not touched its part.
	silence = 5 * period
	// maxPart bounds the file of a part, in bytes: 10,000 pods take some megabytes.
	maxPart = 64 << 20
)

// PartsDir returns the directory below podctl's run directory in which each podctl process writes its part of the Services,
// if any process has Services.
func PartsDir(runDir string) string { return filepath.Join(runDir, "services") }

// Process is a podctl process.
type Process struct {
	// ID is unique to it.
	ID string `json:"id"`
	// Instance is the name under which it owns pods.
	Instance string `json:"instance"`
	// Locks is the lock directory of its runtime.
	Locks string `json:"locks"`
}

// partName returns the name of the file in which the process has its part.
func (p Process) partName() string { return url.PathEscape(p.ID) + ".json" }

// part is what a process contributes and serves. It is in a file which the process touches each period, and which stays
// if it is killed or leaves pods running.
type part struct {
	Process
	Input
	// Serving: the process serves Table for all processes.
	Serving bool `json:"serving"`
	// Problem is why its Services are not served; "" if they are, by this process or another one.
	Problem string `json:"problem,omitempty"`
	// Table is what the process serves, or would.
	Table []Service `json:"table"`

	file   string
	living bool
	// at is when the process last touched the file.
	at time.Time
}

// silent returns why the part may be out of date, "" if it is current.
func (p *part) silent() string {
	if p.living && time.Since(p.at) < silence {
		return ""
	}
	return fmt.Sprintf("podctl %q is silent: what it said at %s counts", p.Instance, p.at.Format(time.TimeOnly))
}

// readParts returns the parts in a directory but that of the file own, in the order of their files. A part that cannot be
// read is as it was in known, and where living fails every process counts as living: the error comes beside the parts.
func readParts(dir, own string, known []*part, living func() (map[string]bool, error)) (all []*part, err error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return known, err
	}
	files = slices.DeleteFunc(files, func(f os.DirEntry) bool {
		return f.Name() == own || strings.HasPrefix(f.Name(), ".") // one that is being written
	})
	if len(files) == 0 {
		return nil, nil
	}
	alive, unseen := living()
	unread := []error{unseen}
	for _, f := range files {
		p := &part{file: filepath.Join(dir, f.Name())}
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) { // it was removed
			continue
		}
		var content []byte
		if err == nil {
			content, err = bounded.ReadNoFollow(p.file, maxPart)
		}
		if err == nil {
			err = json.Unmarshal(content, p)
		}
		if err == nil && (slices.Contains(p.Services, nil) || slices.Contains(p.Slices, nil) || slices.Contains(p.Pods, nil)) {
			err = errors.New("an object is null")
		}
		if err != nil {
			unread = append(unread, fmt.Errorf("Services in %s: %w", p.file, err))
			i := slices.IndexFunc(known, func(k *part) bool { return k.file == p.file })
			if i < 0 {
				continue
			}
			p = known[i]
		}
		if p.living = alive[p.ID] || unseen != nil; info != nil {
			p.at = info.ModTime()
		}
		all = append(all, p)
	}
	return all, errors.Join(unread...)
}

// write writes the part of this process, or removes it if it is nil. What is there already is only touched.
func (m *Manager) write(p *part) {
	file := filepath.Join(m.o.Dir, m.o.Process.partName())
	if p == nil {
		if m.written != nil {
			m.written = nil
			m.removePart(file)
		}
		return
	}
	content, err := json.Marshal(p)
	if len(content) > maxPart {
		err = fmt.Errorf("they and the pods take %d bytes, the others read %d", len(content), maxPart)
	}
	now := time.Now()
	if err == nil && (!bytes.Equal(content, m.written) || os.Chtimes(file, now, now) != nil) {
		m.written = content
		err = errors.Join(os.MkdirAll(m.o.Dir, 0o700), atomicfile.Replace(file, content, 0o600), os.Chtimes(file, now, now))
	}
	if err != nil {
		m.written = []byte{} // it is written again
		m.o.Log.Warn("other podctl processes do not see the Services of this one", "err", err)
	}
}

func (m *Manager) removePart(file string) {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.o.Log.Warn("remove what a podctl process has said of its Services", "err", err)
	}
	_ = os.Remove(m.o.Dir) // unless there are others
}

// readOthers returns the parts of the other processes. m.mu is held.
func (m *Manager) readOthers() []*part {
	all, err := readParts(m.o.Dir, m.o.Process.partName(), m.known, m.o.Living)
	unread := ""
	if err != nil {
		unread = err.Error()
	}
	if unread != "" && unread != m.unread {
		m.o.Log.Warn("Services of other podctl processes are as they were seen last", "err", err)
	}
	m.known, m.unread = all, unread
	return all
}

// inputs returns what is served: own, what living processes have, then what processes of this runtime had that have exited.
// Of these only pods count that still run and that no other process has, and their Services while there is such a pod. Files
// without one are removed.
func (m *Manager) inputs(own Input, others []*part) []Input {
	all := []Input{own}
	for _, p := range others {
		if p.Stale = p.silent(); p.living {
			all = append(all, p.Input)
		}
	}
	listed := sync.OnceValue(m.o.Running)
	for _, p := range others {
		if p.living || p.Locks != m.o.Process.Locks {
			continue
		}
		running := listed()
		in := p.without(all)
		in.Pods = slices.DeleteFunc(in.Pods, func(p *v1.Pod) bool { return running != nil && !running[p.UID] })
		if len(in.Pods) > 0 {
			all = append(all, in)
		} else if running != nil {
			m.removePart(p.file)
		}
	}
	return all
}

// without returns the input without the Services that others have, and the pods of which they have an address.
func (i Input) without(others []Input) Input {
	services, pods := map[string]bool{}, map[types.UID]bool{}
	for _, other := range others {
		for _, s := range other.Services {
			services[s.Namespace+"/"+s.Name] = true
		}
		for _, p := range other.Pods {
			pods[p.UID] = addressOf(p) != ""
		}
	}
	i.Services = slices.DeleteFunc(slices.Clone(i.Services), func(s *v1.Service) bool { return services[s.Namespace+"/"+s.Name] })
	i.Pods = slices.DeleteFunc(slices.Clone(i.Pods), func(p *v1.Pod) bool { return pods[p.UID] })
	return i
}

// Read returns the Services of the processes that live: those that one serves, and those that the others do not get
// served. living returns the ids of the processes that live. With an error, what can be read.
func Read(dir string, living func() (map[string]bool, error)) (found []Service, err error) {
	parts, err := readParts(dir, "", nil, living)
	parts = slices.DeleteFunc(parts, func(p *part) bool { return !p.living })
	if i := slices.IndexFunc(parts, func(p *part) bool { return p.Serving }); i >= 0 {
		parts[0], parts[i] = parts[i], parts[0]
	}
	seen := map[string]bool{}
	for _, p := range parts {
		for _, s := range p.Table {
			if name := s.Namespace + "/" + s.Name; !seen[name] || p.Serving {
				seen[name] = true
				s.Problem, s.Stale = cmp.Or(s.Problem, p.Problem), cmp.Or(s.Stale, p.silent())
				found = append(found, s)
			}
		}
	}
	return found, err
}
