package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/lab/conform"
	"github.com/podctl/podctl/internal/lab/conform/inside"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/serve/daemon"
)

func runConform(ctx context.Context, e *shell.Env, o conformOptions) error {
	return interruptedTwice(ctx, e, "conform", func(ctx, changes context.Context) error {
		client, disconnect, err := shell.Connect(ctx, e, o.Globals)
		if err != nil {
			return err
		}
		defer disconnect()
		if client.IsSimulated() {
			return errSimulated
		}
		at, err := openWorkspace(ctx, changes, e, o.Globals, client, "conform", conform.Label)
		if err != nil {
			return err
		}
		defer at.close()
		o.format.Width = e.TableWidth(o.NoTrunc)
		rows := newConformRows(e, o)
		results, err := conformAt(ctx, changes, e, o, client, at, rows)
		if err := errors.Join(err, rows.close()); err != nil {
			return err
		}
		return printConform(e, o, client.Connected(), results)
	})
}

// conformAt runs the behaviours.
func conformAt(ctx, changes context.Context, e *shell.Env, o conformOptions, client *cri.Client, at *workspace, rows *conformRows) (_ []conform.Result, err error) {
	image, err := chooseImage(ctx, client, o.image)
	if err != nil {
		return nil, err
	}
	status, err := client.Status(ctx)
	if err != nil {
		return nil, err
	}
	handler, err := handlerOf(status, o.class)
	if err != nil {
		return nil, err
	}
	manifests := conform.ManifestOptions{Image: image, Mark: at.mark, Class: o.class}
	program := filepath.Join(at.dir, "program")
	if err := copyPodctl(program, &manifests); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(program) }() // of the next one
	pods, set, err := loadBehaviours(ctx, o.selected, manifests)
	if err != nil {
		return nil, err
	}
	session, err := daemon.Open(ctx, daemon.Options{
		ConnectOptions: o.ConnectOptions(e), Paths: host.Paths{Root: filepath.Join(at.dir, "root"), Logs: at.logs(), Locks: o.RunDir},
		Instance: shell.InstanceName("conform"), Sources: []string{conformSource}, CgroupRoot: o.CgroupRoot, KeepLogs: true,
		Listen: e.Listen, Dial: e.Dial, Procs: e.Procs, Now: e.Now,
	})
	if err != nil {
		return nil, err
	}
	r := &conformRun{
		handler: handler, session: session, set: set, host: inside.Facts(nil), version: client.Connected(), now: e.Now,
		want: map[types.UID]node.Desired{}, events: watchStates(ctx, client),
	}
	defer func() {
		_, swept := sweep(changes, client, conform.Label, at.mark)
		err = errors.Join(err, session.Close(), swept)
	}()
	running, stop := context.WithCancel(changes)
	ran := make(chan error, 1)
	r.apply()
	go func() { ran <- session.Run(running) }()
	results := r.runAll(ctx, o, pods, rows)
	drained := session.Drain(changes, new(int64))
	stop()
	if err := errors.Join(ctx.Err(), drained, <-ran); err != nil {
		return nil, err
	}
	return results, nil
}

// handlerOf returns a handler, the zero value of a runtime that lists none. It is an error if
// the runtime lists others.
func handlerOf(s cri.RuntimeStatus, name string) (cri.Handler, error) {
	var known []string
	for _, h := range s.Handlers {
		if h.Name == name {
			return h, nil
		}
		known = append(known, cmp.Or(h.Name, "(default)"))
	}
	if name == "" || len(known) == 0 {
		return cri.Handler{}, nil
	}
	return cri.Handler{}, shell.Usagef("--handler %q: the runtime has %s", name, strings.Join(known, ", "))
}

const conformSource = "conform"

// loadBehaviours returns the pod of each behaviour, and the objects that they refer to.
func loadBehaviours(ctx context.Context, all []conform.Behaviour, at conform.ManifestOptions) ([]node.Desired, *pod.Objects, error) {
	var documents [][]byte
	for _, b := range all {
		document, err := at.Manifest(b)
		if err != nil {
			return nil, nil, err
		}
		documents = append(documents, document)
	}
	set, err := manifest.Load(ctx, []string{"-"}, manifest.LoadOptions{Stdin: bytes.NewReader(bytes.Join(documents, []byte("\n---\n")))})
	if err != nil {
		return nil, nil, err
	}
	pods := make([]node.Desired, len(all))
	for _, p := range set.Pods {
		i := slices.IndexFunc(all, func(b conform.Behaviour) bool { return b.Name == p.Name })
		pods[i] = node.Desired{Pod: p.Pod, Document: p.Document}
	}
	return pods, set.Objects, nil
}

// conformRun runs behaviours on one session.
type conformRun struct {
	session *daemon.Session
	handler cri.Handler
	set     *pod.Objects
	host    conform.Facts
	version cri.Version
	now     func() time.Time
	events  *stateRecorder

	mu   sync.Mutex
	want map[types.UID]node.Desired
}

// apply tells the node which pods are to run.
func (r *conformRun) apply() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []node.Desired
	for _, d := range r.want {
		all = append(all, d)
	}
	r.session.Set(conformSource, all, r.set)
}

// runAll runs the behaviours, some at a time, until ctx ends, and prints the row of each that ends.
func (r *conformRun) runAll(ctx context.Context, o conformOptions, pods []node.Desired, rows *conformRows) []conform.Result {
	results := make([]conform.Result, len(pods))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(o.parallel, len(pods)) {
		wg.Go(func() {
			for i := range next {
				begin, ended := r.now(), rows.steps.Begin(o.selected[i].Name)
				seen := &conform.Observation{}
				if needs := o.selected[i].Needs; needs != nil {
					seen.Refused = needs(r.handler)
				}
				if seen.Refused == "" {
					seen = r.observe(ctx, o.selected[i], pods[i])
				}
				results[i] = o.selected[i].Judged(seen, r.version.Name, r.version.Version)
				results[i].Seconds = r.now().Sub(begin).Seconds()
				ended()
				if ctx.Err() == nil {
					rows.print(results[i])
				}
			}
		})
	}
	for i := range pods {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return results
}

const (
	// untilTimeout bounds the time until a pod has come so far, endTimeout that until it is gone.
	untilTimeout = 40 * time.Second
	endTimeout   = time.Minute
)

// observe runs a pod to where it is asked, asks, removes it, and returns what was seen.
func (r *conformRun) observe(ctx context.Context, b conform.Behaviour, d node.Desired) *conform.Observation {
	seen := &conform.Observation{Spec: d.Pod, Host: r.host}
	watcher := r.session.Watch()
	defer watcher.Stop()
	r.mu.Lock()
	r.want[d.Pod.UID] = d
	r.mu.Unlock()
	r.apply()

	reached := func(i node.Info) bool {
		return i.Rejected != nil || i.Ended() || b.Until != nil && b.Until(i.Status)
	}
	info, ok := r.await(ctx, watcher, d.Pod.UID, untilTimeout, reached)
	seen.Status, seen.Ended, seen.Late = info.Status, info.Status, !ok
	seen.Problem = info.LastError.Text
	if info.Rejected != nil {
		seen.Refused = info.Rejected.Error()
	} else if ok {
		for _, ask := range b.Asks {
			seen.Answers = append(seen.Answers, r.ask(ctx, ask, info))
		}
	}

	r.mu.Lock()
	delete(r.want, d.Pod.UID)
	r.mu.Unlock()
	begin := r.now()
	r.apply()
	if gone, ok := r.await(ctx, watcher, d.Pod.UID, endTimeout, nil); ok && gone.Pod != nil {
		seen.Ended = gone.Status
	}
	seen.StopTook = r.now().Sub(begin)
	seen.Lines = readLogs(r.session, d.Pod, seen.Ended)
	seen.Events = r.events.statesOf(seen.Ended)
	return seen
}

// await returns the pod as soon as reached holds for it, or with nil once it is gone; false
// after the timeout.
func (r *conformRun) await(ctx context.Context, w *node.Watcher, uid types.UID, timeout time.Duration, reached func(node.Info) bool) (last node.Info, ok bool) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		found := false
		for _, i := range append(w.Gone(), r.session.Pods()...) {
			if i.Pod.UID == uid {
				last = i
			}
		}
		for _, i := range r.session.Pods() {
			found = found || i.Pod.UID == uid
		}
		if reached == nil && !found || reached != nil && last.Pod != nil && reached(last) {
			return last, true
		}
		select {
		case <-w.Changes():
		case <-timer.C:
			return last, false
		case <-ctx.Done():
			return last, false
		}
	}
}
