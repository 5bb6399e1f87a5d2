package owners

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/proc"
)

// askTimeout bounds the answer of a podctl process. It answers from memory.
const askTimeout = 2 * time.Second

// processAsker asks the live podctl processes of this machine.
type processAsker struct {
	// dir is the directory of the runtime's locks, self the id of the process that asks,
	// "" for a command.
	dir, self string
	dial      control.Dialer
	procs     proc.FS
	// endpoint is the runtime's, "" where it is not known.
	endpoint string
	// runtime is what this runtime is recognized by. It is a call, and made only if
	// another process's answer depends on it.
	runtime func() owner.Runtime
	// holders are the processes of the machine that hold locks, read at most once.
	holders func() owner.LockHolders
}

// askThisDir asks the processes of the runtime's own directory.
func (q *processAsker) askThisDir(ctx context.Context) ([]Process, error) {
	return q.askDir(ctx, q.dir, nil, func(owner.Holder) bool { return true })
}

// askOtherDirs asks the processes of all other directories, at the same time. Those that are
// known to use another runtime are not in same, but in others.
func (q *processAsker) askOtherDirs(ctx context.Context, lost owner.DeletedLocks) (same, others []Process, err error) {
	run := filepath.Dir(q.dir)
	dirs, err := filepath.Glob(filepath.Join(run, "*"))
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range lost.Dirs(run) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool {
		info, err := os.Stat(dir)
		return dir == filepath.Clean(q.dir) || err == nil && !info.IsDir() // a lock on the run directory
	})
	below := len(dirs)
	dirs = append(dirs, q.holders().OtherLockDirs(run)...)
	found, errs := make([][]Process, len(dirs)), make([]error, len(dirs))
	var asking sync.WaitGroup
	for i, dir := range dirs {
		asking.Go(func() {
			found[i], errs[i] = q.askDir(ctx, dir, lost, func(h owner.Holder) bool {
				// Processes with another run directory have other directories of pods.
				return i < below || !q.differs(h.Runtime)
			})
		})
	}
	asking.Wait()
	for i := range found {
		for _, p := range found[i] {
			p.Elsewhere = true
			if q.differs(p.runtime) {
				others = append(others, p)
			} else {
				same = append(same, p)
			}
		}
	}
	return same, others, firstFatal(errs)
}

// differs reports whether a runtime is known to be another one than this.
func (q *processAsker) differs(r owner.Runtime) bool { return r.Name != "" && r.Differs(q.runtime()) }

// errOtherRuntime: the process of the directory, which is named after the socket's path, uses a runtime
// that has a socket of that path in another mount namespace.
var errOtherRuntime = errors.New("it uses another runtime, whose socket has the same path in another mount namespace")

// usesAnother reports whether a process of the runtime's directory is known to use another runtime:
// both its socket and the runtime's storage are others. One of them alone is no proof: a socket may be
// new since a container got it, and a storage mounted again.
func (q *processAsker) usesAnother(p *Process) bool {
	if !HasOtherSocket(q.procs, p.Dir, p.Name, q.endpoint) {
		return false
	}
	own := q.runtime()
	return p.runtime.File != "" && own.File != "" && p.runtime.File != own.File
}

// HasOtherSocket reports whether an endpoint is known to be another socket to the instance that has
// its locks in dir: in its mount namespace.
func HasOtherSocket(procs proc.FS, dir, instance, endpoint string) bool {
	path, isSocket := strings.CutPrefix(endpoint, "unix://")
	ours, err := os.Stat(path)
	if !isSocket || err != nil {
		return false
	}
	pid := owner.PIDOf(procs, dir, instance)
	if pid == 0 {
		return false
	}
	theirs, err := os.Stat(filepath.Join(procs.Root(pid), path))
	return err == nil && !os.SameFile(ours, theirs)
}

// firstFatal is the first error that is more than a directory which podctl must not read.
func firstFatal(errs []error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil && !errors.Is(err, fs.ErrPermission) })
	if i < 0 {
		return errors.Join(errs...)
	}
	return errs[i]
}

// endTime is how long a process that ends may take from the end of its socket to that of its lock.
const endTime = 50 * time.Millisecond

// askDir asks the live processes of one directory that are selected. Where one has ended
// since it was listed, it asks all again: its successor may live.
func (q *processAsker) askDir(ctx context.Context, dir string, lost owner.DeletedLocks, selected func(owner.Holder) bool) ([]Process, error) {
	found, err := q.askLiving(ctx, dir, lost, selected)
	if !slices.ContainsFunc(found, func(p Process) bool { return p.Err != nil && !errors.Is(p.Err, context.DeadlineExceeded) }) {
		return found, err
	}
	select {
	case <-ctx.Done():
	case <-time.After(endTime):
	}
	living, err := owner.LiveInstances(dir)
	ended := func(p Process) bool {
		return p.Err != nil && !slices.ContainsFunc(living, func(h owner.Holder) bool { return p.is(h.Name, h.ID) })
	}
	if err != nil || !slices.ContainsFunc(found, ended) {
		return found, err
	}
	return q.askLiving(ctx, dir, lost, selected)
}

// askLiving asks the live processes of one directory that are selected, also those whose
// locks were deleted. Processes that stop or terminate pods for a command own none.
func (q *processAsker) askLiving(ctx context.Context, dir string, lost owner.DeletedLocks, selected func(owner.Holder) bool) ([]Process, error) {
	living, clients, err := control.FindInstances(dir, q.dial)
	if err != nil {
		return nil, err
	}
	living = slices.DeleteFunc(append(living, lost.LiveInstances(dir)...), func(h owner.Holder) bool {
		return q.self != "" && h.ID == q.self || IsCommand(h.Name) || !selected(h)
	})
	found := make([]Process, len(living))
	var asking sync.WaitGroup
	for i, h := range living {
		found[i] = Process{Process: control.Process{Name: h.Name, ID: h.ID}, Dir: dir, Endpoint: h.Runtime.Endpoint, runtime: h.Runtime, Err: errNoSocket}
		for _, c := range clients {
			if c.Instance() == h.Name {
				asking.Go(func() { q.ask(ctx, &found[i], c) })
			}
		}
	}
	asking.Wait()
	return found, nil
}

// errNoSocket: a process has no control socket, or its lock was deleted.
var errNoSocket = errors.New("it has no control socket")

// LocksDecide reports whether the process's locks say all that it has beside the pods that
// it named: it answered and is settled, or holds names for a command.
func (p *Process) LocksDecide() bool { return p.Err == nil && (p.Settled || IsCommand(p.Name)) }

// IsCommand reports whether an instance holds names for a command, and owns no pods.
func IsCommand(instance string) bool {
	prefix, _, _ := strings.Cut(instance, "-")
	return prefix != instance && (prefix == StopPrefix || prefix == RestartPrefix || prefix == OrphansPrefix)
}

// Prefixes of the instances that hold the names of pods which a command terminates, or
// restarts containers of.
const (
	StopPrefix    = "stop"
	RestartPrefix = "restart"
	OrphansPrefix = "orphans"
)

// ask asks one process for its pods.
func (q *processAsker) ask(ctx context.Context, p *Process, c *control.Client) {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	workers, err := c.Workers(asking)
	if err == nil && !p.is(c.Instance(), c.Process().ID) {
		err = errReplaced
	}
	p.Socket, p.Err = c.Process().Socket, err
	if err == nil {
		p.Settled, p.Workers = c.Settled(), make(map[types.UID]control.Worker, len(workers))
		for _, w := range workers {
			p.Workers[w.UID] = w
		}
		return
	}
	p.PID = owner.PIDOf(q.procs, p.Dir, p.Name)
	if state, err := q.procs.Read(p.PID); p.PID != 0 && err == nil {
		p.Stopped = state.State == proc.Stopped
	}
}

// errReplaced: a later process of the name answered.
var errReplaced = errors.New("another process of its name answered")

// OwnedPods maps the pods of all podctl processes, of any runtime, to the instances that
// have them; an error if one of them does not say which it has.
func (a *Answers) OwnedPods() (map[types.UID]string, error) {
	pods := map[types.UID]string{}
	for _, all := range [][]Process{a.Others, a.Processes} {
		for i := range all {
			p := &all[i]
			if !p.Settled {
				return nil, fmt.Errorf("%s is alive and does not answer, or has yet to find its pods", p.Title())
			}
			for uid := range p.Workers {
				pods[uid] = p.Name
			}
		}
	}
	return pods, a.Unread
}
