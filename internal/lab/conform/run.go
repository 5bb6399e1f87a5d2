package conform

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/lab/conform/inside"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/serve/daemon"
)

// Options of a run.
type Options struct {
	Client *cri.Client
	// Node is how the node is opened that runs the pods. Paths are those that the user gave.
	Node daemon.Options
	// Image is that of the containers, "" for one that the runtime has; Handler is the runtime
	// handler, "" for the default one.
	Image, Handler string
	Parallel       int // pods at once
	Behaviours     []Behaviour
	// Left is called with the number of pods that a killed run had left. Begin is called when a
	// behaviour begins, and what it returns at its end, concurrently.
	Left  func(pods int)
	Begin func(name string) (end func())
}

// sourceName is that of the desired pods.
const sourceName = "conform"

// cleanTimeout bounds the removal of the pods once ctx has ended.
const cleanTimeout = time.Minute

// Run runs behaviours until ctx ends, and removes their pods.
func Run(ctx context.Context, o Options) (_ []Result, err error) {
	changes, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(cleanTimeout, giveUp) })()
	at, err := openWorkspace(ctx, changes, o)
	if err != nil {
		return nil, err
	}
	defer at.close()
	image, err := chooseImage(ctx, o.Client, o.Image)
	if err != nil {
		return nil, err
	}
	status, err := o.Client.Status(ctx)
	if err != nil {
		return nil, err
	}
	handler, err := handlerOf(status, o.Handler)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(at.dir, "program")
	defer func() { _ = os.RemoveAll(dir) }() // of the next one
	podctl, err := copyPodctl(dir)
	if err != nil {
		return nil, err
	}
	var documents [][]byte
	for _, b := range o.Behaviours {
		document, err := ManifestOptions{Image: image, Podctl: podctl, Mark: at.mark, Class: o.Handler}.Manifest(b)
		if err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
	set, err := manifest.Load(ctx, []string{"-"}, manifest.LoadOptions{Stdin: bytes.NewReader(bytes.Join(documents, []byte("\n---\n")))})
	if err != nil {
		return nil, err
	}
	o.Node.Paths = host.Paths{Root: filepath.Join(at.dir, "root"), Logs: at.logs(), Locks: o.Node.Paths.Locks}
	o.Node.Sources, o.Node.KeepLogs = []string{sourceName}, true
	session, err := daemon.Open(ctx, o.Node)
	if err != nil {
		return nil, err
	}
	r := &run{
		Options: o, handler: handler, session: session, objects: set.Objects, want: map[types.UID]node.Desired{},
		host: plain(inside.Facts(nil)).(map[string]any),
	}
	score, _ := r.host["oomScoreAdj"].(float64)
	r.host["shimScoreAdj"] = score + 1 // containerd's, which crun before 1.9 leaves where the runtime asks for 0
	defer func() {
		_, swept := sweep(changes, o.Client, at.mark)
		err = errors.Join(err, session.Close(), swept)
	}()
	running, stop := context.WithCancel(changes)
	ran := make(chan error, 1)
	r.apply(nil, "")
	go func() { ran <- session.Run(running) }()
	pods := map[string]node.Desired{}
	for _, p := range set.Pods {
		pods[p.Name] = node.Desired{Pod: p.Pod, Document: p.Document}
	}
	results := r.all(ctx, pods)
	drained := session.Drain(changes, new(int64))
	stop()
	return results, errors.Join(ctx.Err(), drained, <-ran)
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
	return cri.Handler{}, fmt.Errorf("handler %q: the runtime has %s", name, strings.Join(known, ", "))
}

// run runs behaviours on one session.
type run struct {
	Options
	session *daemon.Session
	handler cri.Handler
	objects *pod.Objects
	host    map[string]any

	mu   sync.Mutex
	want map[types.UID]node.Desired
}

// apply makes a pod desired, unless it is nil, and another one not.
func (r *run) apply(add *node.Desired, remove types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.want, remove); add != nil {
		r.want[add.Pod.UID] = *add
	}
	var all []*manifest.Pod
	for _, d := range r.want {
		all = append(all, &manifest.Pod{Pod: d.Pod, Document: d.Document})
	}
	r.session.Set(sourceName, all, r.objects)
}

// all runs the behaviours, some at a time.
func (r *run) all(ctx context.Context, pods map[string]node.Desired) []Result {
	results := make([]Result, len(r.Behaviours))
	slots := make(chan struct{}, r.Parallel)
	var wg sync.WaitGroup
	for i, b := range r.Behaviours {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		wg.Go(func() {
			defer func() { <-slots }()
			begin, end := r.Node.Now(), r.Begin(b.Name)
			seen := &Observation{Refused: "the runtime says that the handler has no user namespaces: they need runc 1.2 or crun 1.9"}
			if b.Needs != "userNamespaces" || r.handler.UserNamespaces {
				seen = r.observe(ctx, b, pods[b.Name])
			}
			version := r.Client.Connected()
			results[i] = b.Judge(seen, version.Name, version.Version)
			results[i].Seconds = r.Node.Now().Sub(begin).Seconds()
			end()
		})
	}
	wg.Wait()
	return results
}

const (
	// untilTimeout bounds the time until a pod has come so far, endTimeout that until it is gone.
	untilTimeout = 40 * time.Second
	endTimeout   = time.Minute
	// execTimeout bounds steps in a container.
	execTimeout = 20 * time.Second
	// maxLog bounds what is read of a log.
	maxLog = 1 << 20
)

// observe runs a pod to where it is asked, asks, removes it, and returns what was seen.
func (r *run) observe(ctx context.Context, b Behaviour, d node.Desired) *Observation {
	seen := &Observation{Pod: d.Pod, Host: r.host, Logs: map[string][]string{}}
	watcher := r.session.Watch()
	defer watcher.Stop()
	r.apply(&d, "")
	info, ok := r.await(ctx, watcher, d.Pod.UID, untilTimeout, func(i node.Info) bool {
		return i.Rejected != nil || i.Ended() || b.Until != nil && b.reached(i.Status)
	})
	seen.Status, seen.Ended, seen.Late, seen.Problem = info.Status, info.Status, !ok, info.LastError.Text
	if info.Rejected != nil {
		seen.Refused = info.Rejected.Error()
	} else if ok && b.Exec != nil {
		var err error
		if seen.Answer, err = r.exec(ctx, b.Exec, info); err != nil {
			seen.Answer.Err = err.Error()
		}
	}

	begin := r.Node.Now()
	r.apply(nil, d.Pod.UID)
	if gone, ok := r.await(ctx, watcher, d.Pod.UID, endTimeout, nil); ok && gone.Pod != nil {
		seen.Ended = gone.Status
	}
	seen.StopTook = r.Node.Now().Sub(begin)
	for _, c := range slices.Concat(seen.Ended.InitContainerStatuses, seen.Ended.ContainerStatuses) {
		for attempt := range c.RestartCount + 1 {
			var text []byte
			if f, err := os.Open(r.session.LogFile(d.Pod, c.Name, attempt)); err == nil {
				text, _ = io.ReadAll(io.LimitReader(f, maxLog)) // what could be read is judged
				_ = f.Close()
			}
			seen.Logs[c.Name] = append(seen.Logs[c.Name], string(text))
		}
	}
	return seen
}

// reached reports whether until is true.
func (b Behaviour) reached(s v1.PodStatus) bool {
	all := containers(s)
	all["status"] = s
	return deviations(plain(all), b.Until) == nil
}

// await returns the pod as soon as reached holds for it, or with nil once it is gone; false
// after the timeout.
func (r *run) await(ctx context.Context, w *node.Watcher, uid types.UID, timeout time.Duration, reached func(node.Info) bool) (last node.Info, ok bool) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		for _, i := range w.Gone() {
			if i.Pod.UID == uid {
				last = i
			}
		}
		found := false
		for _, i := range r.session.Pods() {
			if i.Pod.UID == uid {
				last, found = i, true
			}
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

// runtimeID is the runtime's id of the last attempt of a container.
func runtimeID(c v1.ContainerStatus) string {
	_, id, _ := strings.Cut(c.ContainerID, "://")
	return id
}

// exec runs steps in the first container of a pod.
func (r *run) exec(ctx context.Context, steps []string, i node.Info) (Answer, error) {
	id := runtimeID(i.Status.ContainerStatuses[0])
	result, err := r.Client.ExecSync(ctx, id, append([]string{program, inside.Command}, steps...), execTimeout)
	return Answer{Stdout: string(result.Stdout), Stderr: string(result.Stderr), Code: int(result.ExitCode)}, err
}
