package target

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Forward forwards local ports to the pod that a query names, whichever it is at the time.
type Forward struct {
	Session   *Session
	Query     Query
	Ports     []stream.Port
	Addresses []string
	// Listening is called for each local address, Replaced when another pod takes the place of
	// the one that was forwarded to, and Failed for each connection that failed.
	Listening func(local net.Addr, t Target, port string)
	Replaced  func(Target)
	Failed    func(*stream.Listener, error)

	mu sync.Mutex // of all below, and of the session's listing
	// sandbox is the pod's ready sandbox.
	sandbox string
	target  Target
	// named are the numbers of the named ports of the pod.
	named map[string]uint16
}

// Run forwards until ctx ends.
func (f *Forward) Run(ctx context.Context) error {
	t, err := f.Session.Find(ctx, f.Query)
	if err != nil {
		return err
	}
	if err := f.use(ctx, t); err != nil {
		return err
	}
	listeners, err := f.listen(ctx)
	if err != nil {
		return err
	}
	forwarder := &stream.Forwarder{URL: f.url, Failed: f.Failed}
	return forwarder.Serve(ctx, listeners)
}

// use makes new connections go to the target, with mu held or before Serve.
func (f *Forward) use(ctx context.Context, t Target) (err error) {
	sandbox := t.Pod.ReadySandboxID()
	if sandbox == "" {
		return fmt.Errorf("%s has no ready sandbox", t.Pod.DisplayName())
	}
	if t.Container == nil {
		return &NoContainerError{Pod: t.Pod}
	}
	named := map[string]uint16{}
	if slices.ContainsFunc(f.Ports, func(p stream.Port) bool { return p.Name != "" }) {
		if named, err = f.readNames(ctx, t, sandbox); err != nil {
			return err
		}
	}
	f.target, f.sandbox, f.named = t, sandbox, named
	return nil
}

// listen opens the local ports.
func (f *Forward) listen(ctx context.Context) ([]*stream.Listener, error) {
	var listeners []*stream.Listener
	for _, p := range f.Ports {
		remote := f.remote(p)
		local := p.Local
		if local == 0 && !p.Any {
			local = remote
		}
		open, err := stream.Listen(ctx, f.Addresses, local)
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return nil, err
		}
		text := fmt.Sprint(remote)
		if p.Name != "" {
			text += " (" + p.Name + ")"
		}
		for _, l := range open {
			listeners = append(listeners, &stream.Listener{Listener: l, Remote: func(context.Context) (uint16, error) { return f.remote(p), nil }})
			f.Listening(l.Addr(), f.target, text)
		}
	}
	return listeners, nil
}

// remote is the number of a port in the pod as it is now.
func (f *Forward) remote(p stream.Port) uint16 {
	if p.Name == "" {
		return p.Remote
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.named[p.Name]
}

const (
	// replaceWait is how long a connection waits for the successor of a pod.
	replaceWait = 5 * time.Second
	// replacePoll is how often the successor is looked for.
	replacePoll = 200 * time.Millisecond
)

// url asks for a connection to the pod: to its successor if it was replaced.
func (f *Forward) url(ctx context.Context, port uint16) (string, error) {
	f.mu.Lock()
	sandbox := f.sandbox
	f.mu.Unlock()
	// CRI-O returns a URL for a sandbox that is not ready.
	if ready, err := f.Session.Client.SandboxReady(ctx, sandbox); err != nil || !ready {
		if sandbox, err = f.successor(ctx, sandbox); err != nil {
			return "", err
		}
	}
	return f.Session.Client.PortForward(ctx, sandbox, port)
}

// successor finds the sandbox that has replaced another one.
func (f *Forward) successor(ctx context.Context, old string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, replaceWait)
	defer cancel()
	for {
		f.mu.Lock()
		if f.sandbox != old { // another connection has found it
			defer f.mu.Unlock()
			return f.sandbox, nil
		}
		t, err := f.Session.Find(ctx, f.Query)
		if err == nil {
			err = f.use(ctx, t)
		}
		sandbox := f.sandbox
		f.mu.Unlock()
		if err == nil && sandbox != old {
			f.Replaced(t)
			return sandbox, nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = errors.New("the sandbox does not answer")
			}
			return "", err
		case <-time.After(replacePoll):
		}
	}
}

// readNames reads the named ports of the pod's containers, the newest of each name;
// all that are asked for must be there.
func (f *Forward) readNames(ctx context.Context, t Target, sandbox string) (map[string]uint16, error) {
	named, protocols := map[string]uint16{}, map[string]v1.Protocol{}
	for _, c := range t.Pod.Runtime.Containers {
		if c.SandboxID != sandbox {
			continue
		}
		status, err := f.Session.Client.ContainerStatus(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		var ports []v1.ContainerPort
		if json.Unmarshal([]byte(status.Annotations[pod.PortsAnnotation]), &ports) != nil {
			continue // they are not known
		}
		for _, p := range ports {
			if _, known := named[p.Name]; !known && p.Name != "" {
				named[p.Name], protocols[p.Name] = uint16(p.ContainerPort), p.Protocol
			}
		}
	}
	for _, p := range f.Ports {
		if p.Name == "" {
			continue
		}
		if _, ok := named[p.Name]; !ok {
			advice := "its ports have no names: use the number"
			if len(named) > 0 {
				advice = "one of: " + strings.Join(slices.Sorted(maps.Keys(named)), ", ")
			}
			return nil, hint.Errorf(advice, "no port of %s is named %q", t.Pod.DisplayName(), p.Name)
		}
		if protocol := cmp.Or(protocols[p.Name], v1.ProtocolTCP); protocol != v1.ProtocolTCP {
			return nil, fmt.Errorf("port %q of %s is %s: the CRI forwards TCP only", p.Name, t.Pod.DisplayName(), protocol)
		}
	}
	return named, nil
}
