package source

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pod"
)

// Options of Follow. Deliver is required.
type Options struct {
	// FileCheck is how often files are read though nothing notified of a
	// change, and HTTPCheck how often URLs are asked; 20 s if zero
	// (pkg/kubelet/apis/config/v1beta1/defaults.go).
	FileCheck, HTTPCheck time.Duration
	// Load is how the manifests are read: HTTP, Replicas, ServiceAccounts, AllFiles,
	// SkipUnknownKinds, Hostname and NoSELinux of it.
	Load manifest.LoadOptions
	// ObjectsOnly: no pods and no workloads are read.
	ObjectsOnly bool
	// Strict: what is worth a warning makes a file invalid.
	Strict bool
	// RanManifest reports whether the pod was last run from this manifest. When two files with the
	// same pod are first read, the one for which it is true keeps the pod; nil is never true.
	RanManifest func(*manifest.Pod) bool
	// Deliver is called after each read that changed anything, and after the
	// first one in any case, from one goroutine.
	Deliver func(Update)
}

// Update is the complete desired state of a source.
type Update struct {
	// Pods are all pods, no two of one name or UID.
	Pods []*manifest.Pod
	// Objects are all that is neither a pod nor a workload; they have not been applied
	// to the pods: see manifest.Admit.
	Objects *pod.Objects
	// Partial: the source may want more; see State.Partial.
	Partial bool
	// Notices are what is new to say.
	Notices []Notice
}

const (
	defaultCheck = 20 * time.Second
	// settle is how long nothing may happen to a directory before it is read:
	// a program that writes a file in place has time to finish. What has arrived whole
	// is read at once: see arrived.
	settle = 100 * time.Millisecond
	// firstReadTimeout is how long a first read may delay the pods of other sources.
	firstReadTimeout = time.Second
)

// Follow delivers what a directory, file or URL holds, and each change, until
// ctx ends.
func Follow(ctx context.Context, name string, o Options) {
	f := &follower{name: name, opts: o}
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		u := &page{address: name, client: o.Load.HTTP}
		f.name = u.shown()
		f.follow(ctx, or(o.HTTPCheck, defaultCheck), u.read, nil, nil)
		return
	}
	w := watch(name)
	defer w.close()
	f.follow(ctx, or(o.FileCheck, defaultCheck), func(ctx context.Context) (Read, bool) {
		w.rewatch() // a directory that came back, or a link that was turned
		return readPath(ctx, name, o.Load.AllFiles), true
	}, w.changes, func() bool { return f.arrived(w.taken()) })
}

func or(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// follower has the state of one source.
type follower struct {
	name  string
	opts  Options
	state State
	// had is the file of each pod of the last delivery, by name and UID, and hadObjects that of
	// each object; twins are what was said of those that were left out.
	had, hadObjects map[string]string
	twins           []manifest.Problem
}

// follow reads now, at each tick and when changes settle. read's second value
// is false where it is known that nothing has changed; whole reports whether changes are
// complete. Of many changes only the first does not wait.
func (f *follower) follow(ctx context.Context, every time.Duration, read func(context.Context) (Read, bool), changes <-chan struct{}, whole func() bool) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for first := true; ; first = false {
		began := time.Now()
		if r, changed := f.readOnce(ctx, read, &first); ctx.Err() != nil {
			return
		} else if changed {
			f.applyRead(ctx, r, first)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-changes:
			if whole() && time.Since(began) > settle {
				continue
			}
			if !calm(ctx, changes) {
				return
			}
			whole() // what has happened so far is read now
		}
	}
}

// errFirstReadTimeout is the error of a source whose first read takes longer than firstReadTimeout.
var errFirstReadTimeout = fmt.Errorf("no answer within %s", firstReadTimeout)

// readOnce reads. While a first read takes long the source is delivered as one that
// cannot be read, so that it delays no pod of other sources; but not one of objects alone,
// which those pods may name.
func (f *follower) readOnce(ctx context.Context, read func(context.Context) (Read, bool), first *bool) (r Read, changed bool) {
	if !*first || f.opts.ObjectsOnly {
		return read(ctx)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, changed = read(ctx)
	}()
	late := time.NewTimer(firstReadTimeout)
	defer late.Stop()
	select {
	case <-late.C:
		f.applyRead(ctx, Read{Err: errFirstReadTimeout}, *first)
		*first = false
	case <-done:
	}
	<-done
	return r, changed
}

// arrived reports whether all that happened to the source is that manifests came to
// it, which are written. A file that it had before is waited for: one that is written in
// several steps, or that an editor replaces, must not lose its pods meanwhile.
func (f *follower) arrived(touched map[string]bool) bool {
	for name := range touched {
		path := filepath.Join(f.name, name)
		if _, had := f.state.files[path]; had || !manifest.IsManifest(name, f.opts.Load.AllFiles) || !isWritten(path) {
			return false
		}
	}
	return len(touched) > 0
}

// calm waits until nothing has changed for a moment, but not for ever.
func calm(ctx context.Context, changes <-chan struct{}) bool {
	end := time.NewTimer(10 * settle)
	defer end.Stop()
	for {
		quiet := time.NewTimer(settle)
		select {
		case <-ctx.Done():
			quiet.Stop()
			return false
		case <-end.C:
			quiet.Stop()
			return true
		case <-quiet.C:
			return true
		case <-changes:
			quiet.Stop()
		}
	}
}

// applyRead updates the state with a read and delivers the changes.
func (f *follower) applyRead(ctx context.Context, r Read, first bool) {
	next, notices := f.state.Next(f.name, r, func(name string, data []byte) (*manifest.Set, error) {
		return f.opts.parse(ctx, name, data)
	})
	if ctx.Err() != nil {
		return // what was parsed meanwhile may be cut short
	}
	same := !first && next.same(f.state)
	f.state = next
	if same && len(notices) == 0 {
		return
	}
	pods, twins := next.union(f.had, f.opts.RanManifest)
	objects, holders, objectTwins := next.unionObjects(f.hadObjects)
	twins = append(twins, objectTwins...)
	notices = append(notices, newNotices(Failed, f.twins, twins)...)
	f.had, f.hadObjects, f.twins = map[string]string{}, holders, twins
	for _, p := range pods {
		for _, key := range keysOf(p) {
			f.had[key] = p.File
		}
	}
	f.opts.Deliver(Update{Pods: pods, Objects: objects, Partial: next.Partial(), Notices: notices})
}

// parse makes a set of a file's bytes. The set is kept for as long as the file, and so
// without the trees of what was written.
func (o Options) parse(ctx context.Context, name string, data []byte) (*manifest.Set, error) {
	set, err := o.parsed(ctx, name, data)
	if set != nil {
		set.Forget()
	}
	return set, err
}

func (o Options) parsed(ctx context.Context, name string, data []byte) (*manifest.Set, error) {
	if o.ObjectsOnly {
		return manifest.ParseObjects(ctx, name, data, o.Load)
	}
	set, err := manifest.Parse(ctx, name, data, o.Load)
	if err == nil && o.Strict && len(set.Warnings) > 0 {
		err = manifest.Problems(set.Warnings)
	}
	if err == nil {
		err = notEmpty(name, set)
	}
	return set, err
}

// same reports whether two states want the same.
func (s State) same(other State) bool {
	if s.Ready != other.Ready || len(s.files) != len(other.files) {
		return false
	}
	for name, f := range s.files {
		if before, ok := other.files[name]; !ok || before.good != f.good {
			return false
		}
	}
	return true
}
