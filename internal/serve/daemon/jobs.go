package daemon

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/jobs"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/worker"
)

// jobRunner runs the Jobs and CronJobs of all sources: it gives jobs.Step the pods of the node, writes the
// Record, and then desires its pods.
type jobRunner struct {
	session *Session
	store   jobs.Store
	wake    chan struct{}

	mu      sync.Mutex
	stopped bool
	sources map[string]*jobSource
	open    map[string]*jobs.Open
	// made are the pods of Jobs that are desired, twins the pods of sources that have the UID or name of one.
	made  map[types.UID]node.Desired
	twins map[*manifest.Pod]bool
	// leftRead: Records that earlier processes left were looked for.
	leftRead bool
	// refused has the last error of each Job that cannot run: it is reported once.
	refused map[string]string
	// tooLarge are the Jobs whose Record is too large to be read.
	tooLarge map[string]*manifest.Job
}

// jobSource is what a source desires.
type jobSource struct {
	pods, templates []*manifest.Pod
	objects         *pod.Objects
	partial         bool
	// last is what the node was given.
	last []node.Desired
}

func newJobRunner(s *Session, p host.Paths) *jobRunner {
	r := &jobRunner{
		session: s, store: jobs.Store{Dir: filepath.Join(p.Root, "jobs", filepath.Base(s.locks.Dir())), Instance: s.opts.Instance},
		wake: make(chan struct{}, 1), sources: map[string]*jobSource{}, open: map[string]*jobs.Open{}, made: map[types.UID]node.Desired{}, refused: map[string]string{}, tooLarge: map[string]*manifest.Job{},
	}
	s.onClose(func() error { return r.close(false) })
	return r
}

// set replaces all that one source desires.
func (r *jobRunner) set(source string, pods []*manifest.Pod, objects *pod.Objects, partial bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &jobSource{objects: objects, partial: partial}
	for _, p := range pods {
		if p.Job != nil {
			s.templates = append(s.templates, p)
		} else {
			s.pods = append(s.pods, p)
		}
	}
	r.sources[source] = s
	r.sync(source)
	select {
	case r.wake <- struct{}{}: // a Step is due at another time now
	default:
	}
}

// run steps whenever the node's pods change, and when a time has come.
func (r *jobRunner) run(ctx context.Context) {
	w := r.session.Watch()
	defer w.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.Changes():
		case <-r.wake:
		case <-timer.C:
		}
		r.mu.Lock()
		next := r.sync("")
		r.mu.Unlock()
		if timer.Stop(); !next.IsZero() {
			timer.Reset(max(0, next.Sub(r.session.opts.Now())))
		}
	}
}

// retryRefused is how often a Job is tried again that another process runs, or whose Record cannot be written.
const retryRefused = 5 * time.Second

// sync steps every Job, and gives the node the sources whose pods have changed, and the source changed in any
// case. It returns when it is due again. r.mu is held.
func (r *jobRunner) sync(changed string) (next time.Time) {
	if r.stopped {
		return time.Time{}
	}
	wanted, partial := r.wanted()
	in := jobs.Input{Now: r.session.opts.Now()}
	if len(wanted)+len(r.open) > 0 {
		in.Settled = r.session.Settled() // before the pods are read: they may be adopted meanwhile
		in.Seen = seenPods(r.session.Pods())
	}
	earlier := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for key, template := range wanted {
		if r.open[key] == nil && !r.openRecord(key, template) {
			earlier(in.Now.Add(retryRefused))
		}
	}
	for key, o := range r.open {
		if in.Want = wanted[key]; in.Want == nil && partial {
			continue
		}
		record, result := jobs.Step(o.Record, in)
		if !r.save(key, o, record, in.Want) {
			earlier(in.Now.Add(retryRefused))
			continue
		}
		for _, ev := range result.Events {
			r.report(ev)
		}
		earlier(result.Wake)
	}
	ofJobs := r.makePods()
	r.findTwins()
	for name, s := range r.sources {
		if pods := r.desired(s, ofJobs); name == changed || !slices.EqualFunc(pods, s.last, func(a, b node.Desired) bool { return a.Pod == b.Pod }) {
			s.last = pods
			if s.partial {
				r.session.Node.SetPartly(name, pods, s.objects)
			} else {
				r.session.Node.Set(name, pods, s.objects)
			}
		}
	}
	return next
}

// wanted returns the templates of all sources by key; of two with one key that of the first source by name
// counts. partial: there may be more.
func (r *jobRunner) wanted() (wanted map[string]*manifest.Pod, partial bool) {
	wanted, partial = map[string]*manifest.Pod{}, len(r.sources) < len(r.session.opts.Sources)
	for _, name := range slices.Sorted(maps.Keys(r.sources)) {
		s := r.sources[name]
		partial = partial || s.partial
		for _, p := range s.templates {
			if key := jobs.Key(p.Job); wanted[key] == nil {
				wanted[key] = p
			}
		}
	}
	if !partial && !r.leftRead {
		r.leftRead = true
		r.openLeft(wanted)
	}
	if !partial {
		r.removeTooLarge(wanted)
	}
	return wanted, partial
}

// openLeft opens the Records that an earlier process left of Jobs whose manifests are gone: the next Step ends
// them.
func (r *jobRunner) openLeft(wanted map[string]*manifest.Pod) {
	for _, j := range r.store.Left() {
		if key := jobs.Key(j); wanted[key] == nil && r.open[key] == nil {
			if o, err := r.store.Open(j); err == nil {
				r.open[key] = o
			} else {
				r.noteTooLarge(key, j, err)
			}
		}
	}
}

func (r *jobRunner) noteTooLarge(key string, j *manifest.Job, err error) {
	if _, ok := errors.AsType[*bounded.TooLargeError](err); ok {
		r.tooLarge[key] = j
	}
}

// removeTooLarge removes the Records that are too large to be read of Jobs whose manifests are gone: no Step can
// end them. The node stops their pods, which no source desires.
func (r *jobRunner) removeTooLarge(wanted map[string]*manifest.Pod) {
	for key, j := range r.tooLarge {
		if wanted[key] != nil {
			continue
		}
		delete(r.tooLarge, key)
		delete(r.refused, key)
		if removed, err := r.store.RemoveTooLarge(j); removed {
			r.accept(key, j, cmp.Or(err, errTooLarge))
		}
	}
}

var errTooLarge = errors.New("what was known of it was too large to be read, and is removed because its manifest is gone")

// openRecord opens the Record of a Job, or reports why it does not run.
func (r *jobRunner) openRecord(key string, template *manifest.Pod) bool {
	o, err := r.store.Open(template.Job)
	if err == nil {
		r.open[key] = o
	} else {
		r.noteTooLarge(key, template.Job, err)
	}
	return r.accept(key, template.Job, err)
}

// accept reports whether there is no error of a Job. One is an event, once.
func (r *jobRunner) accept(key string, j *manifest.Job, err error) bool {
	if err == nil {
		delete(r.refused, key)
		return true
	}
	if r.refused[key] != err.Error() {
		r.refused[key] = err.Error()
		r.report(event.Event{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, UID: j.UID, Reason: event.FailedJob, Message: err.Error(), Warning: true})
	}
	return false
}

func (r *jobRunner) report(ev event.Event) {
	r.session.Report(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ev.Namespace, Name: ev.Name, UID: ev.UID}}, ev)
}

// save writes a Record that has changed, or removes that of a manifest that is gone with all it had. Until it
// could, nothing follows from the Record.
func (r *jobRunner) save(key string, o *jobs.Open, record jobs.Record, want *manifest.Pod) bool {
	j := &manifest.Job{Kind: record.Kind, Namespace: record.Namespace, Name: record.Name}
	if want != nil {
		return r.accept(key, want.Job, o.Save(record))
	}
	if len(record.Jobs) > 0 {
		return r.accept(key, j, o.Save(record))
	}
	delete(r.open, key)
	return r.accept(key, j, o.Remove())
}

// makePods makes the pods of all Jobs, and returns them by the key of their Record. One that was made before is
// the same.
func (r *jobRunner) makePods() map[string][]node.Desired {
	before, ofJobs := r.made, map[string][]node.Desired{}
	r.made = map[types.UID]node.Desired{}
	for key, o := range r.open {
		for i := range o.Jobs {
			desired := o.Jobs[i].Desired()
			for _, uid := range slices.Sorted(maps.Keys(desired)) {
				d, ok := before[uid]
				if !ok {
					p, document, err := manifest.StampJobPod(o.Jobs[i].Document, desired[uid])
					if err != nil {
						r.session.opts.Log.Warn("make pod of Job", "job", o.Jobs[i].Name, "err", err)
						continue
					}
					d = node.Desired{Pod: p, Document: document, Workload: "Job/" + o.Namespace + "/" + o.Jobs[i].Name}
				}
				r.made[uid] = d
				ofJobs[key] = append(ofJobs[key], d)
			}
		}
	}
	return ofJobs
}

// findTwins finds the pods of all sources that have the UID or the name of a Job's pod, and reports each once: the
// Job's pod takes precedence.
func (r *jobRunner) findTwins() {
	before, names := r.twins, map[string]bool{}
	r.twins = map[*manifest.Pod]bool{}
	for _, d := range r.made {
		names[d.FullName()] = true
	}
	for _, s := range r.sources {
		for _, p := range s.pods {
			if r.made[p.UID].Pod == nil && !names[pod.FullNameOf(p.Pod)] {
				continue
			}
			if r.twins[p] = true; !before[p] {
				r.session.opts.Log.Warn("a pod has the UID or the name of a pod of a Job, which takes precedence",
					"pod", pod.DisplayName(p.Namespace, p.Name), "uid", p.UID, "file", p.File, "line", p.Line)
			}
		}
	}
}

// desired returns the pods of a source: its own, and those of its Jobs.
func (r *jobRunner) desired(s *jobSource, ofJobs map[string][]node.Desired) (all []node.Desired) {
	for _, p := range s.pods {
		if !r.twins[p] {
			all = append(all, node.Desired{Pod: p.Pod, Document: p.Document, Workload: p.Workload})
		}
	}
	for _, template := range s.templates {
		all = append(all, ofJobs[jobs.Key(template.Job)]...)
	}
	return all
}

// seenPods returns the pods as jobs.Step takes them. A pod that will be started again has not ended.
func seenPods(infos []node.Info) map[types.UID]jobs.Seen {
	all := map[types.UID]jobs.Seen{}
	for _, i := range infos {
		down := i.Rejected != nil || i.WorkerPhase == worker.Terminated || i.WorkerPhase == worker.Finished
		all[i.Pod.UID] = jobs.Seen{
			Namespace: i.Pod.Namespace, Name: i.Pod.Name,
			Status: i.Status, Ended: down && !i.Again && pod.IsTerminal(i.Status.Phase), Removed: i.Lifecycle == lifecycle.Removed && i.Desired && !i.Again,
		}
	}
	return all
}

// records returns the Records of the Jobs that run.
func (r *jobRunner) records() (all []jobs.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(r.open)) {
		all = append(all, r.open[key].Record)
	}
	return all
}

// stop leaves the Jobs as they are: their pods are terminated with the process, which is no failure of theirs.
func (r *jobRunner) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
}

// close leaves the Records to the next process, or removes them.
func (r *jobRunner) close(remove bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	var errs []error
	for key, o := range r.open {
		if remove {
			errs = append(errs, o.Remove())
		} else {
			o.Close()
		}
		delete(r.open, key)
	}
	return errors.Join(errs...)
}

// Set sets the pods, Jobs and CronJobs that a source desires, all of them, and the objects beside them; the
// Services among the objects are served before a pod starts.
func (s *Session) Set(source string, pods []*manifest.Pod, objects *pod.Objects) {
	s.jobs.set(source, pods, s.services.Set(context.Background(), source, objects), false)
}

// SetPartly is Set for a source that could not be read in full: see node.SetPartly.
func (s *Session) SetPartly(source string, pods []*manifest.Pod, objects *pod.Objects) {
	s.jobs.set(source, pods, s.services.Set(context.Background(), source, objects), true)
}

// Jobs returns what is known of the Jobs and CronJobs.
func (s *Session) Jobs() []jobs.Record { return s.jobs.records() }

// Drain drains the node, and removes the Records of its Jobs.
func (s *Session) Drain(ctx context.Context, grace *int64) error {
	s.jobs.stop()
	if err := s.Node.Drain(ctx, grace); err != nil {
		return err
	}
	return s.jobs.close(true)
}

// Shutdown shuts the node down. The pods that it terminates are not counted as failures of their Jobs.
func (s *Session) Shutdown(ctx context.Context, within time.Duration) error {
	s.jobs.stop()
	return s.Node.Shutdown(ctx, within)
}
