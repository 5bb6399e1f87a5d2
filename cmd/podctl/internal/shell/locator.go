package shell

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/proc"
)

// locator reads what a property of a pod depends on.
type locator struct {
	ctx     context.Context
	env     *Env
	session *Session
	args    cmdline.Args
}

// find returns the pods and containers that a property names: several of a port only.
func (l *locator) find(p target.Property) ([]target.Target, error) {
	one := func(t target.Target, err error) ([]target.Target, error) { return []target.Target{t}, err }
	all := l.session.Pods
	if p.Value == "" {
		return nil, &UsageError{Message: fmt.Sprintf("%s names no pod", p), Advice: "podctl help targets"}
	}
	switch p.Kind {
	case target.ByPID:
		return one(l.byPID(p.Value))
	case target.ByUID:
		return one(l.byUID(p.Value))
	case target.ByIP:
		return one(l.byIP(p.Value))
	case target.ByPort:
		return l.byPort(p.Value)
	case target.ByNetNS:
		return one(l.byNetNS(p.Value))
	case target.ByCgroup:
		return one(target.OfCgroup(all, p.Value))
	case target.ByContainer:
		return one(target.OfContainerID(all, p.Value))
	}
	return nil, fmt.Errorf("%s: unknown property", p)
}

func (l *locator) byPID(text string) (t target.Target, err error) {
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 {
		return t, Usagef("pid:%s is not a PID", text)
	}
	lineage, err := l.lineage(pid)
	switch {
	case errors.Is(err, proc.ErrGone):
		return t, hint.With(err, "a PID as ps shows it on this host, not inside the container")
	case err != nil:
		return t, err
	}
	return target.OfPID(l.session.Pods, lineage)
}

// maxLineage is how many parents of a process are read.
const maxLineage = 64

// lineage reads a process and its parents but the first of all.
func (l *locator) lineage(pid int) (target.Lineage, error) {
	var all target.Lineage
	for len(all) < maxLineage && (pid > 1 || len(all) == 0) {
		p, err := l.env.Procs.Read(pid)
		if err != nil {
			if len(all) > 0 {
				break // it has ended meanwhile, or is not visible
			}
			return nil, err
		}
		of := target.Process{PID: pid, Comm: p.Comm, Shim: p.IsShim()}
		cgroups, err := l.env.Procs.Cgroups(pid)
		if err != nil && len(all) == 0 {
			return nil, err
		}
		for _, c := range cgroups {
			of.Cgroups = append(of.Cgroups, c.Path)
		}
		if of.Shim {
			of.Args, _ = l.env.Procs.Command(pid) // its cgroup may do
		}
		slices.SortStableFunc(of.Cgroups, func(a, b string) int { return len(b) - len(a) })
		all, pid = append(all, of), p.Parent
	}
	return all, nil
}

func (l *locator) byUID(text string) (t target.Target, err error) {
	uid, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return t, Usagef("uid:%s is not a user id", text)
	}
	if l.env.Tape != nil {
		return t, fmt.Errorf("user namespaces: %w", view.ErrNotRecorded)
	}
	pids, err := l.env.Procs.PIDs()
	if err != nil {
		return t, err
	}
	host, err := l.env.Procs.Namespace(l.onHost(), "user")
	if err != nil {
		return t, err
	}
	var ranges []target.IDRange
	seen := map[string]bool{host: true}
	for _, pid := range pids {
		namespace, err := l.env.Procs.Namespace(pid, "user")
		if err != nil || seen[namespace] {
			continue // it has ended, or is not visible
		}
		mapped, err := l.env.Procs.UIDMap(pid)
		lineage, lineageErr := l.lineage(pid)
		if err != nil || lineageErr != nil {
			continue
		}
		seen[namespace] = true
		for _, r := range mapped {
			ranges = append(ranges, target.IDRange{First: r.Outside, Length: r.Length, Process: lineage})
		}
	}
	return target.OfUID(l.session.Pods, ranges, int(uid))
}

// onHost is a process in the namespaces of the host: the first one, unless it is not visible.
func (l *locator) onHost() int {
	if _, err := l.env.Procs.Namespace(1, "user"); err == nil {
		return 1
	}
	return os.Getpid()
}

func (l *locator) byIP(text string) (t target.Target, err error) {
	ip, err := target.ParseIP(text)
	if err != nil {
		return t, Usagef("ip:%s is not an IP address", text)
	}
	var pods []target.Addresses
	inventory.ReadStatuses(l.ctx, l.session.Pods, l.session.Client, true)
	var unread []error
	for _, p := range l.session.Pods {
		switch {
		case p.Unread != nil:
			unread = append(unread, fmt.Errorf("the address of %s is not known: %w", p.DisplayName(), p.Unread))
		case p.Status != nil && p.SandboxReady():
			pods = append(pods, target.Addresses{Pod: p, IPs: p.Status.IPs, HostNetwork: p.Status.Sandboxes[0].HostNetwork})
		}
	}
	var node []netip.Addr
	var addresses []net.Addr // without them no pod is the only one of an address
	if l.env.Tape == nil {
		addresses, _ = net.InterfaceAddrs()
	}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			node = append(node, prefix.Addr().Unmap())
		}
	}
	t, err = target.OfIP(pods, node, ip)
	return t, unlessRead(err, unread)
}

// unlessRead adds to the error of a pod that was not found which pods were not read.
func unlessRead(err error, unread []error) error {
	if err == nil || len(unread) == 0 {
		return err
	}
	return errors.Join(append([]error{err}, unread...)...)
}

func (l *locator) byPort(text string) ([]target.Target, error) {
	port, err := target.ParsePort(text)
	if err != nil {
		return nil, Usagef("port:%s: %v", text, err)
	}
	ready := l.ready()
	mapped := make([]target.Mapped, len(ready))
	unread := l.ask(ready, func(ctx context.Context, i int) (err error) {
		mapped[i].Pod = ready[i]
		mapped[i].Ports, err = l.session.Client.HostPorts(ctx, ready[i].ReadySandbox())
		return err
	})
	if found := target.OfMappedPort(mapped, port); len(found) > 0 {
		return found, nil
	}
	listeners, err := l.listeners(port)
	if err != nil {
		return nil, err
	}
	found, err := target.OfListeners(l.session.Pods, port, listeners)
	return found, unlessRead(err, unread)
}

// listeners returns the processes that listen on a port of the host.
func (l *locator) listeners(port target.Port) ([]target.Lineage, error) {
	if l.env.Tape != nil {
		return nil, fmt.Errorf("processes that listen: %w", view.ErrNotRecorded)
	}
	sockets, err := l.env.Procs.Listeners(l.onHost())
	if err != nil {
		return nil, err
	}
	listens := map[uint32]bool{}
	for _, s := range sockets {
		if int32(s.Port) == port.Number && (port.Protocol == "" || port.Protocol == v1.Protocol(s.Protocol)) {
			listens[s.Inode] = true
		}
	}
	if len(listens) == 0 {
		return nil, nil
	}
	pids, err := l.env.Procs.PIDs()
	if err != nil {
		return nil, err
	}
	var found []target.Lineage
	for _, pid := range pids {
		for _, inode := range l.env.Procs.Sockets(pid) {
			if listens[inode] {
				if lineage, err := l.lineage(pid); err == nil {
					found = append(found, lineage)
				}
				break
			}
		}
	}
	return found, nil
}

func (l *locator) byNetNS(name string) (target.Target, error) {
	ready := l.ready()
	paths := make([]string, len(ready))
	unread := l.ask(ready, func(ctx context.Context, i int) error {
		details, err := l.session.Client.SandboxDetails(ctx, ready[i].ReadySandbox())
		paths[i] = details.NetNS
		return err
	})
	byPod := map[*inventory.Pod]string{}
	for i, p := range ready {
		byPod[p] = paths[i]
	}
	t, err := target.OfNetNS(byPod, name)
	return t, unlessRead(err, unread)
}

// ready are the pods that have a network: a sandbox of theirs is ready.
func (l *locator) ready() []*inventory.Pod {
	var ready []*inventory.Pod
	for _, p := range l.session.Pods {
		if p.SandboxReady() {
			ready = append(ready, p)
		}
	}
	return ready
}

// ask reads something of each pod, and returns which could not be read.
func (l *locator) ask(pods []*inventory.Pod, read func(ctx context.Context, i int) error) []error {
	var unread []error
	for i, err := range cri.ReadEach(l.ctx, len(pods), read) {
		if err != nil && !errors.Is(err, cri.ErrNotFound) {
			unread = append(unread, fmt.Errorf("pod %s is not read: %w", pods[i].DisplayName(), err))
		}
	}
	return unread
}
