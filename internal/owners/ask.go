package owners

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// KubeletQuestion says when a kubelet is looked for and asked.
type KubeletQuestion uint8

const (
	// KubeletNever: verdicts about its pods are not needed.
	KubeletNever KubeletQuestion = iota
	// KubeletIfNeeded: where the runtime holds a pod that may be a kubelet's.
	KubeletIfNeeded
	// KubeletAlways: in any case.
	KubeletAlways
)

// Asker asks everybody who may own a pod of one runtime, as often as it is told to.
type Asker struct {
	// Locks is the runtime's directory of locks and control sockets.
	Locks string
	// Dial connects to control sockets; nil is the machine's own.
	Dial control.Dialer
	// Procs are the processes of the machine.
	Procs proc.FS
	// Self is the instance that holds names for the command that asks, which does not
	// make it an owner; "" for none. SelfID is the id of a process that asks about its
	// own pods.
	Self, SelfID string
	// Kubelet, and the sources beside it: the kubelet and the cluster that the user named,
	// manifests, a kubelet's static pod directory.
	Kubelet    KubeletQuestion
	Sources    sources.Sources
	Cluster    *sources.Cluster
	Files      []string
	StaticPods string
	// ElsewhereOnly: processes of the runtime's own directory are left out, where their locks
	// decide.
	ElsewhereOnly bool
	// Everybody: processes of all runtimes are asked, whatever the runtime holds: they may
	// share directories with this one.
	Everybody bool
	// CountUndesired: the kubelet's metrics are read for Kubelet.Undesired.
	CountUndesired bool
	// KubeletIsGone and OwnerIsGone: the user says that the kubelet, and the podctl
	// processes that are not seen, do not exist any more.
	KubeletIsGone, OwnerIsGone bool
	// ReadExits: an instance that was killed, as its lock file shows, has none of its pods
	// any more, also where processes are not visible.
	ReadExits bool
	// Answered are the answers of a recording, in place of those of the machine; nobody is asked.
	Answered *Answers
	// Known are exits of processes that earlier answers told of: opening locks removes the
	// files of processes that were killed.
	Known map[string]owner.Exit
}

// PendingAnswers are the questions that Start began; its methods wait for the answers.
type PendingAnswers struct {
	asker *Asker
	q     *processAsker
	here  func() ([]Process, error)
}

// Start asks the podctl processes of the runtime's directory, and returns at once.
func (a *Asker) Start(ctx context.Context) *PendingAnswers {
	if a.Answered != nil {
		return &PendingAnswers{asker: a}
	}
	q := &processAsker{dir: a.Locks, self: a.SelfID, dial: a.Dial, procs: a.Procs}
	q.holders = sync.OnceValue(func() owner.LockHolders { return owner.ReadLockHolders(a.Procs) })
	var found []Process
	var err error
	var asking sync.WaitGroup
	if !a.ElsewhereOnly {
		asking.Go(func() { found, err = q.askThisDir(ctx) })
	}
	return &PendingAnswers{asker: a, q: q, here: func() ([]Process, error) { asking.Wait(); return found, err }}
}

// Ask asks everybody, and waits for the answers.
func (a *Asker) Ask(ctx context.Context, client *cri.Client, listed []*pod.Pod) (*Answers, error) {
	return a.Start(ctx).Answers(ctx, client, listed)
}

// ProcessAnswers returns what the processes of the runtime's directory answered: all that is
// known while the runtime does not answer.
func (k *PendingAnswers) ProcessAnswers() (*Answers, error) {
	if k.asker.Answered != nil {
		return k.asker.Answered, nil
	}
	found, err := k.here()
	return &Answers{Processes: found}, err
}

// Answers waits for the answers, and asks everybody else on whom the verdict about a
// listed pod depends. An owner that does not answer is no error: it is in the answers.
func (k *PendingAnswers) Answers(ctx context.Context, client *cri.Client, listed []*pod.Pod) (*Answers, error) {
	if k.asker.Answered != nil {
		return k.asker.Answered, nil
	}
	a := &Answers{Exited: map[string]owner.Exit{}, names: map[string]nameHolder{}}
	if k.q.runtime == nil {
		k.q.endpoint = client.Endpoint().Runtime
		k.q.runtime = sync.OnceValue(func() owner.Runtime {
			known, _ := Identify(ctx, client) // what is not known does not differ
			return known
		})
	}
	var sources sync.WaitGroup
	var sourcesErr, err error
	if k.asker.asksKubelet(listed) {
		sources.Go(func() {
			a.Kubelet.Process, a.Kubelet.FindErr = kubelet.Find(ctx, client.Endpoint().Runtime)
			sourcesErr = k.asker.askSources(ctx, a)
		})
	}
	a.Processes, err = k.here()
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	a.Unread = err
	k.leaveOutOthers(a)
	if unclaimed := slices.DeleteFunc(slices.Clone(listed), a.isFromRun); len(unclaimed) > 0 || k.asker.Everybody {
		k.askOthers(ctx, a, unclaimed)
		if err := k.readExits(a, unclaimed); err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		if !k.asker.OwnerIsGone && slices.ContainsFunc(unclaimed, isPodctls) {
			a.Unseen = Unseen(client, k.asker.Procs)
		}
	}
	sources.Wait()
	if sourcesErr != nil {
		return nil, sourcesErr
	}
	k.asker.settleKubelet(a, listed)
	return a, ctx.Err()
}

// leaveOutOthers takes back what processes of the runtime's directory answered that use another runtime.
// They are not asked for anything, and what they may own is not known.
func (k *PendingAnswers) leaveOutOthers(a *Answers) {
	for i := range a.Processes {
		if p := &a.Processes[i]; k.q.usesAnother(p) {
			p.Elsewhere, p.Settled, p.Workers, p.Err = true, false, nil, errOtherRuntime
		}
	}
}

// isFromRun reports whether a process of the runtime's directory answered that it runs the pod.
func (a *Answers) isFromRun(p *pod.Pod) bool {
	return slices.ContainsFunc(a.Processes, func(process Process) bool {
		return process.evidence(p) == ProcessRuns
	})
}

func isPodctls(p *pod.Pod) bool { return creatorOf(p) == CreatedByPodctl }

// askOthers asks the processes of other directories about pods that none of the runtime's
// own runs.
func (k *PendingAnswers) askOthers(ctx context.Context, a *Answers, unclaimed []*pod.Pod) {
	lost, err := k.q.holders().DeletedLocks(filepath.Dir(k.q.dir))
	if err != nil {
		a.Unread = err
		return
	}
	for _, h := range lost.LiveInstances(k.q.dir) {
		if !IsCommand(h.Name) && !k.asker.ElsewhereOnly {
			a.Processes = append(a.Processes, Process{Process: control.Process{Name: h.Name, ID: h.ID}, Dir: k.q.dir, Err: errNoSocket, runtime: h.Runtime})
		}
	}
	same, others, err := k.q.askOtherDirs(ctx, lost)
	if err != nil && a.Unread == nil {
		a.Unread = err
	}
	a.Processes, a.Others = append(a.Processes, same...), others
	for _, p := range unclaimed {
		if h, held := k.nameHolderOf(a, p, lost); held {
			a.names[p.FullName()] = h
		}
	}
}

// nameHolderOf returns the process that holds the name of a pod that podctl created, or may
// have created; else one of those elsewhere that do not say what they own. Where the
// holder cannot be read, there is one.
func (k *PendingAnswers) nameHolderOf(a *Answers, p *pod.Pod, lost owner.DeletedLocks) (nameHolder, bool) {
	name := p.FullName()
	if mayBePodctls(creatorOf(p)) && !k.asker.ElsewhereOnly {
		h, held, err := findHolder(k.q.dir, name, lost)
		if held && k.asker.Self != "" && h.Name == k.asker.Self {
			held = false
		}
		if held || err != nil {
			holder := a.processNamed(h, k.q.dir, err)
			return nameHolder{Process: holder, silent: holder.Elsewhere}, true
		}
	}
	for _, process := range a.Processes {
		if !process.Elsewhere || process.Settled {
			continue
		}
		if h, held, err := findHolder(process.Dir, name, lost); err != nil || held && (h.Name == "" || process.is(h.Name, h.ID)) {
			return nameHolder{Process: process, silent: true}, true
		}
	}
	return nameHolder{}, false
}

// findHolder returns which process holds a full name in a directory, also by a lock whose
// file was deleted.
func findHolder(dir, fullName string, lost owner.DeletedLocks) (owner.Holder, bool, error) {
	h, held, err := owner.HolderOf(dir, fullName)
	if !held {
		if deleted, isLost := lost.Holder(dir, fullName); isLost {
			return deleted, true, nil
		}
	}
	return h, held, err
}

// processNamed returns the process of the runtime's directory that a lock names.
func (a *Answers) processNamed(h owner.Holder, dir string, err error) Process {
	i := slices.IndexFunc(a.Processes, func(p Process) bool { return p.Dir == dir && p.is(h.Name, h.ID) })
	if i >= 0 {
		return a.Processes[i]
	}
	return Process{Process: control.Process{Name: h.Name, ID: h.ID}, Dir: dir, Err: err}
}

// readExits reads when the instances exited that created the pods.
func (k *PendingAnswers) readExits(a *Answers, unclaimed []*pod.Pod) error {
	if !k.asker.ReadExits {
		return nil
	}
	maps.Copy(a.Exited, k.asker.Known)
	for _, p := range unclaimed {
		creator, _ := createdBy(p)
		if err := k.asker.ReadExit(a, creator); err != nil {
			return err
		}
	}
	return nil
}

// ReadExit adds to the answers when an instance was killed, if that is known.
func (a *Asker) ReadExit(answers *Answers, instance string) error {
	if instance == "" {
		return nil
	}
	exit, err := owner.LastHeartbeat(a.Locks, instance)
	if err == nil && !exit.At.IsZero() {
		answers.Exited[instance] = exit
	}
	return err
}
