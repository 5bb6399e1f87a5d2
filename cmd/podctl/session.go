package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/admission"
	"github.com/podctl/podctl/internal/cgroup"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/host"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/render"
	"github.com/podctl/podctl/internal/userns"
	"github.com/podctl/podctl/internal/volume"
)

// connect finds the runtime and connects to it. What it returns to close is
// never nil.
func connect(ctx context.Context, e *env, g globals) (*cri.Client, func(), error) {
	return connectWatched(ctx, e, g, nil, nil)
}

// connectWatched connects, and has the watcher told of every call while it is
// in flight, the observer once it has ended.
func connectWatched(ctx context.Context, e *env, g globals, watcher cri.CallWatcher, observer cri.Observer) (*cri.Client, func(), error) {
	none := func() {}
	endpoint, err := cri.Discover(ctx, cri.DiscoverOptions{Runtime: g.runtime, Image: g.image, Timeout: g.timeout})
	if err != nil {
		return nil, none, err
	}
	options := cri.Options{Endpoint: endpoint, Log: e.log, Watcher: watcher, Observer: observer}
	stop := none
	if endpoint.Runtime == cri.SimEndpoint {
		var runtime *sim.Runtime
		runtime, stop = e.simulate()
		options.Dial = runtime.Dial
	}
	client, err := cri.Connect(ctx, options)
	if err != nil {
		stop()
		return nil, none, err
	}
	return client, func() { client.Close(); stop() }, nil
}

// paths are where a node keeps its things.
type paths struct{ root, logs, locks string }

var defaultPaths = paths{root: "/var/lib/podctl", logs: "/var/log/podctl/pods", locks: "/run/podctl"}

// nodePaths are the given directories, or the defaults. A simulated runtime
// gets a directory of its own that temporary tells to remove, so that it
// needs no root and meets nobody.
func nodePaths(g globals, endpoint cri.Endpoint) (p paths, temporary string, err error) {
	p = defaultPaths
	if endpoint.Runtime == cri.SimEndpoint {
		temporary, err = os.MkdirTemp("", "podctl-sim-")
		if err != nil {
			return paths{}, "", err
		}
		p = paths{root: filepath.Join(temporary, "root"), logs: filepath.Join(temporary, "logs"), locks: filepath.Join(temporary, "run")}
	}
	p, err = givenPaths(g, endpoint, p)
	return p, temporary, err
}

// givenPaths are the given directories, or those of p, with the locks of this
// runtime.
func givenPaths(g globals, endpoint cri.Endpoint, p paths) (paths, error) {
	for _, given := range []struct {
		value string
		to    *string
	}{{g.root, &p.root}, {g.logDir, &p.logs}, {g.runDir, &p.locks}} {
		if given.value == "" {
			continue
		}
		var err error
		if *given.to, err = filepath.Abs(given.value); err != nil {
			return paths{}, err
		}
	}
	p.locks = filepath.Join(p.locks, runtimeID(endpoint))
	return p, nil
}

// runtimeID tells runtimes on one machine apart, by their sockets: locks and
// cgroups are about the pods of one runtime. However its socket is spelt (/run
// and /var/run are often the same), a runtime has one id.
func runtimeID(endpoint cri.Endpoint) string {
	name := endpoint.Runtime
	if path, unix := strings.CutPrefix(name, "unix://"); unix {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			name = "unix://" + real
		}
	}
	id := sha256.Sum256([]byte(name))
	return hex.EncodeToString(id[:6])
}

// nodeOptions are what a command that drives pods asks for.
type nodeOptions struct {
	driving
	instance string
	sources  []string
	// killUnknown: see node.Options.
	killUnknown bool
	events      func(node.Event)
}

// session is a node on a runtime, with all that has to be closed after it.
type session struct {
	*node.Node
	client *cri.Client
	facts  *render.Node
	shown  *shown
	closes []func() error
}

// openNode connects to the runtime and puts a node together. The caller
// closes the session.
func openNode(ctx context.Context, e *env, g globals, o nodeOptions) (_ *session, err error) {
	shown := newShown(e.now)
	client, stop, err := connectWatched(ctx, e, g, shown.calls, shown.metrics)
	if err != nil {
		return nil, err
	}
	s := &session{client: client, shown: shown}
	s.onClose(func() error { stop(); return nil })
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.checkHost(o); err != nil {
		return nil, err
	}
	p, temporary, err := nodePaths(g, client.Endpoint())
	if temporary != "" {
		s.onClose(func() error { return os.RemoveAll(temporary) })
	}
	if err != nil {
		return nil, err
	}
	if err := s.build(ctx, e, g, p, o); err != nil {
		return nil, err
	}
	return s, s.serve(e, p, o)
}

// simulated: the runtime is in this process.
func (s *session) simulated() bool { return s.client.Endpoint().Runtime == cri.SimEndpoint }

// checkHost refuses what would end badly: a kubelet beside us.
func (s *session) checkHost(o nodeOptions) error {
	path, unix := strings.CutPrefix(s.client.Endpoint().Runtime, "unix://")
	if !unix || o.besideKubelet {
		return nil
	}
	return kubelet.CheckNone(path)
}

func (s *session) build(ctx context.Context, e *env, g globals, p paths, o nodeOptions) error {
	for _, dir := range []string{p.root, p.logs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make podctl's directories: %w", err)
		}
	}
	locks, err := owner.Open(p.locks, o.instance)
	if err != nil {
		return err
	}
	s.onClose(locks.Close)
	podsDir := filepath.Join(p.root, "pods")
	facts, err := host.ReadFacts(podsDir, p.logs, filepath.Join(p.root, "seccomp"))
	if err != nil {
		return err
	}
	s.facts = facts
	admission, err := admission.ReadPolicy(o.unsafeSysctls)
	if err != nil {
		return err
	}
	cgroups, err := openCgroups(ctx, e, s.client, g, o.cgroupDriver)
	if err != nil {
		return err
	}
	s.onClose(cgroups.RemoveEmptyParents)
	s.Node = node.New(node.Options{
		Instance: o.instance, Sources: o.sources,
		Runtime: s.client, Locks: locks, Facts: facts, Resolver: host.ReadResolvConf, Admission: admission, Cgroups: cgroups,
		Allocatable: o.allocatable(facts),
		Volumes:     volume.New(p.root),
		UserIDs:     userns.New(p.root).Of, RuntimeClasses: o.runtimeClasses,
		KeepLogs: o.keepLogs, KillUnknown: o.killUnknown,
		PLEG:     pleg.Options{Observer: s.shown.metrics},
		Observer: s.shown.metrics, Probes: s.shown.metrics,
		Events: s.shown.tell(o.events), Log: e.log,
	})
	return nil
}

// openCgroups makes pod cgroups with the driver that the runtime names. One that
// cannot say is taken to use cgroupfs, as the kubelet takes it. Their root is
// the runtime's own: whoever shares one kills each other's pods.
func openCgroups(ctx context.Context, e *env, client *cri.Client, g globals, driver string) (node.Cgroups, error) {
	if client.Endpoint().Runtime == cri.SimEndpoint {
		return noCgroups{}, nil
	}
	if driver == "" {
		var err error
		if driver, err = client.CgroupDriver(ctx); err != nil && !errors.Is(err, cri.ErrUnsupported) {
			return nil, err
		}
	}
	root := cmp.Or(g.cgroupRoot, "podctl-"+runtimeID(client.Endpoint()))
	return cgroup.New(cgroup.Options{Root: root, Driver: cgroup.Driver(driver), Log: e.log})
}

// alive counts the pods that are not down.
func (s *session) alive() int {
	n := 0
	for _, i := range s.Pods() {
		if !i.Ended() {
			n++
		}
	}
	return n
}

// logFile is where a container of the pod writes.
func (s *session) logFile(p *v1.Pod, container string, attempt int32) string {
	return filepath.Join(s.facts.LogDirectory(p), render.LogPath(container, uint32(attempt)))
}

// lastWords is the last line that the container of the event wrote, "" if it
// wrote none.
func (s *session) lastWords(ev node.Event) string {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ev.Namespace, Name: ev.Name, UID: ev.UID}}
	lines, err := cri.TailLog(s.logFile(p, ev.Container, ev.Attempt), 1)
	if err != nil || len(lines) == 0 {
		return ""
	}
	return printable(lines[0].Text)
}

func (s *session) onClose(f func() error) { s.closes = append(s.closes, f) }

// Close closes all in the reverse order.
func (s *session) Close() error {
	var errs []error
	for _, c := range slices.Backward(s.closes) {
		errs = append(errs, c())
	}
	s.closes = nil
	return errors.Join(errs...)
}
