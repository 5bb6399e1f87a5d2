package recording

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/lazyregexp"
	"github.com/podctl/podctl/internal/sys/proc"
)

// File is a file of the node's /proc or cgroups, or a link there.
type File struct {
	// Path begins with proc or cgroup, in place of the directory that it is in.
	Path string `json:"path"`
	Text string `json:"text,omitempty"`
	Link string `json:"link,omitempty"`
}

const (
	procDir, cgroupDir = "proc", "cgroup"
	// maxFiles bounds the files in a recording, maxFile each of them, in bytes.
	maxFiles = 1 << 16
	maxFile  = 64 << 10
	// maxBlocks bounds what the files of a recording, and the directories that they are in, take of a
	// disk, in blocks of 4 KiB.
	maxBlocks = 1 << 15
	// maxMounts bounds a table of mounts.
	maxMounts = 4 << 20
)

// namespaceLink matches where the links are that are recorded point to.
var namespaceLink = lazyregexp.New(`^[a-z_]{1,32}:\[\d{1,20}\]$`)

// ReadProcesses returns what /proc says of all processes, and of the mounts that one of them
// sees. Command lines are those of runtimes and of what is between them and containers. The error
// is ErrFull if they are too many: a process that is left out would look as if it had ended.
func ReadProcesses(procs proc.FS, mountsOf int) ([]File, error) {
	pids, err := procs.PIDs()
	if err != nil {
		return nil, err
	}
	r := &fileReader{root: string(procs), dir: procDir}
	r.read("stat")
	r.link("self/ns/pid")
	for _, pid := range pids {
		r.process(strconv.Itoa(pid))
	}
	if mountsOf != 0 {
		r.readUpTo(filepath.Join(strconv.Itoa(mountsOf), "mountinfo"), maxMounts)
	}
	return r.files, r.err
}

// ReadCgroups returns the files of the cgroups that processes are in, and what freezes those
// above them. mounts is where cgroups are mounted. The error is ErrFull if they are too many.
func ReadCgroups(procs proc.FS, mounts string, pids []int) ([]File, error) {
	r := &fileReader{root: mounts, dir: cgroupDir, seen: map[string]bool{}}
	r.read("cgroup.controllers")
	for _, pid := range pids {
		groups, _ := procs.Cgroups(pid) // it has ended
		for _, g := range groups {
			hierarchies := g.Controllers
			if len(hierarchies) == 0 {
				hierarchies = []string{"", "unified"}
			}
			for _, h := range hierarchies {
				if !slices.Contains(usedHierarchies, h) {
					continue
				}
				group := filepath.Join(h, g.Path)
				r.cgroup(group, true)
				r.cgroup(filepath.Dir(group), true) // the pod's
			}
		}
	}
	return r.files, r.err
}

// usedHierarchies are those of cgroup v1 that commands look at, and v2 in its two places.
var usedHierarchies = []string{"cpu", "freezer", "memory", "pids", "", "unified"}

// fileReader reads files below a directory. What cannot be read is left out: it has ended
// meanwhile, or the kernel does not have it.
type fileReader struct {
	root, dir string
	files     []File
	size      int   // of their texts, in bytes
	err       error // there is more
	// seen are the cgroups that were read, true for those that were read whole.
	seen map[string]bool
}

func (r *fileReader) process(pid string) {
	for _, name := range []string{"stat", "status", "comm", "cgroup", "wchan"} {
		r.read(filepath.Join(pid, name))
	}
	r.link(filepath.Join(pid, "ns/pid"))
	comm, _ := os.ReadFile(filepath.Join(r.root, pid, "comm"))
	if p := (proc.Process{Comm: strings.TrimSpace(string(comm))}); p.IsShim() || proc.IsOCIRuntime(p.Comm) {
		r.read(filepath.Join(pid, "cmdline"))
	}
}

// cgroup reads the files of a cgroup, or only those about freezing, and about those above it.
func (r *fileReader) cgroup(group string, whole bool) {
	if group == "." {
		return
	}
	if was, ok := r.seen[group]; ok && (was || !whole) {
		return
	}
	r.seen[group] = whole
	entries, err := os.ReadDir(filepath.Join(r.root, group))
	if err != nil {
		return
	}
	for _, e := range entries {
		isFreezer := strings.HasPrefix(e.Name(), "freezer.") || e.Name() == "cgroup.freeze" || e.Name() == "cgroup.events"
		if e.Type().IsRegular() && (whole || isFreezer) && !strings.HasSuffix(e.Name(), "numa_stat") {
			r.read(filepath.Join(group, e.Name()))
		}
	}
	r.cgroup(filepath.Dir(group), false)
}

func (r *fileReader) read(name string) { r.readUpTo(name, maxFile) }

func (r *fileReader) readUpTo(name string, limit int64) {
	if text, err := bounded.Read(filepath.Join(r.root, name), limit); err == nil {
		r.add(File{Path: filepath.Join(r.dir, name), Text: string(text)})
	}
}

func (r *fileReader) add(f File) {
	if r.size += len(f.Text); len(r.files) == maxFiles || r.size > maxRecorded/2 {
		r.err = ErrFull
	}
	if r.err == nil {
		r.files = append(r.files, f)
	}
}

func (r *fileReader) link(name string) {
	if target, err := os.Readlink(filepath.Join(r.root, name)); err == nil {
		r.add(File{Path: filepath.Join(r.dir, name), Link: target})
	}
}

// fileRoom is the room that files take on a disk.
type fileRoom struct {
	blocks int
	dirs   map[string]bool
}

func newFileRoom() *fileRoom { return &fileRoom{dirs: map[string]bool{}} }

// add adds a file, and the directories that it is in.
func (r *fileRoom) add(f File) error {
	r.blocks += max(1, (len(f.Text)+4095)/4096)
	for dir := path.Dir(f.Path); !r.dirs[dir] && r.blocks <= maxBlocks; dir = path.Dir(dir) {
		r.dirs[dir] = true
		r.blocks++
	}
	if r.blocks > maxBlocks {
		return fmt.Errorf("files of more than %d MiB", maxBlocks>>8)
	}
	return nil
}

// check rejects a file that nothing records. One outside its directory, or a link to a file,
// would show files of the host on which the recording is read.
func (f File) check() error {
	top, _, _ := strings.Cut(f.Path, "/")
	switch {
	case len(f.Path) > 4096 || !filepath.IsLocal(f.Path) || filepath.Clean(f.Path) != f.Path || strings.ContainsRune(f.Path, 0) || top != procDir && top != cgroupDir || top == f.Path:
		return fmt.Errorf("file %.60q is not one of /proc or of cgroups", f.Path)
	case f.Link != "" && !namespaceLink().MatchString(f.Link):
		return fmt.Errorf("link %.60q does not lead to a namespace", f.Path)
	case len(f.Text) > maxMounts:
		return fmt.Errorf("file %.60q is larger than %d MiB", f.Path, maxMounts>>20)
	}
	return nil
}

// WriteFiles writes the files of the node below a directory, until ctx ends, and returns where
// those of /proc and of the cgroups are, "" if none were recorded.
func (t *Recording) WriteFiles(ctx context.Context, dir string) (procs proc.FS, cgroups string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	have := map[string]bool{}
	for _, f := range t.files {
		if err := ctx.Err(); err != nil {
			return "", "", err
		}
		top, _, _ := strings.Cut(f.Path, "/")
		have[top] = true
		if err := root.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
			return "", "", err
		}
		if f.Link != "" {
			err = root.Symlink(f.Link, f.Path)
		} else {
			err = root.WriteFile(f.Path, []byte(f.Text), 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", "", err
		}
	}
	if have[procDir] {
		procs = proc.FS(filepath.Join(dir, procDir))
	}
	if have[cgroupDir] {
		cgroups = filepath.Join(dir, cgroupDir)
	}
	return procs, cgroups, nil
}
