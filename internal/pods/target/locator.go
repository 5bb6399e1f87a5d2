package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Locator finds pods by properties: it reads what these depend on.
type Locator struct {
	Pods   []*view.Pod
	Client *cri.Client
	Procs  proc.FS
	// Cgroups is where the hierarchies are mounted.
	Cgroups string
	// HostUnknown is why nothing is known of the runtime's host, nil if it is this one.
	HostUnknown error
	// Server is the PID of the runtime's process, 0 if that is not known.
	Server int
	// groups are read for the first property that they decide.
	groups podCgroups
}

// InvalidError is a property of a form that names nothing.
type InvalidError struct{ Text string }

func (e *InvalidError) Error() string { return e.Text }

// Find returns the pods and containers that a property names: several of a port only.
func (l *Locator) Find(ctx context.Context, p Property) ([]Target, error) {
	one := func(t Target, err error) ([]Target, error) { return []Target{t}, err }
	if p.Value == "" {
		return nil, hint.With(&InvalidError{p.String() + " names no pod"}, "podctl help targets")
	}
	switch p.Kind {
	case ByPID:
		return one(l.byPID(p.Value))
	case ByIP:
		return one(l.byIP(ctx, p.Value))
	case ByPort:
		return l.byPort(ctx, p.Value)
	case ByCgroup:
		return one(findByCgroup(l.Pods, l.podGroups(), p.Value))
	case ByContainer:
		return one(findByContainerID(l.Pods, p.Value))
	}
	return nil, fmt.Errorf("%s: unknown property", p)
}

// podGroups returns the cgroups of the pods; none where they cannot be read, so that a pod is found by
// the ids of its containers alone.
func (l *Locator) podGroups() podCgroups {
	if l.groups == nil && l.HostUnknown == nil {
		if tree, err := cgroup.Scan(l.Cgroups); err == nil {
			l.groups = podCgroupsOf(l.Pods, tree)
		}
	}
	return l.groups
}

func (l *Locator) byPID(text string) (t Target, err error) {
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 {
		return t, &InvalidError{"pid:" + text + " is not a PID"}
	}
	lineage, err := l.lineage(pid)
	switch {
	case errors.Is(err, proc.ErrGone):
		return t, hint.With(err, "a PID as ps shows it on this host, not inside the container")
	case err != nil:
		return t, err
	}
	return findByPID(l.Pods, l.podGroups(), lineage)
}

// maxLineage is how many parents of a process are read.
const maxLineage = 64

// lineage reads a process and its parents but the first of all.
func (l *Locator) lineage(pid int) (ancestry, error) {
	var all ancestry
	for len(all) < maxLineage && (pid > 1 || len(all) == 0) {
		p, err := l.Procs.Read(pid)
		if err != nil {
			if len(all) > 0 {
				break // it has ended meanwhile, or is not visible
			}
			return nil, err
		}
		of := Process{PID: pid, Comm: p.Comm}
		cgroups, err := l.Procs.Cgroups(pid)
		if err != nil && len(all) == 0 {
			return nil, err
		}
		for _, c := range cgroups {
			of.Cgroups = append(of.Cgroups, c.Path)
		}
		if p.IsShim() && l.Server != 0 {
			of.Shim, _ = l.Procs.Beside(p, l.Server) // its cgroup may do
			of.Args, _ = l.Procs.Command(pid)
		}
		slices.SortStableFunc(of.Cgroups, func(a, b string) int { return len(b) - len(a) })
		all, pid = append(all, of), p.Parent
	}
	return all, nil
}

func (l *Locator) byIP(ctx context.Context, text string) (t Target, err error) {
	ip, err := parseIP(text)
	if err != nil {
		return t, &InvalidError{"ip:" + text + " is not an IP address"}
	}
	var pods []Addresses
	(&view.Reader{Runtime: l.Client}).ReadStatuses(ctx, l.Pods, true)
	var unread []error
	for _, p := range l.Pods {
		switch {
		case p.ReadError() != nil:
			unread = append(unread, fmt.Errorf("the address of %s is not known: %w", p.DisplayName(), p.ReadError()))
		case p.RuntimeStatus != nil && p.SandboxReady():
			pods = append(pods, Addresses{Pod: p, IPs: p.RuntimeStatus.IPs, HostNetwork: p.RuntimeStatus.Sandboxes[0].HostNetwork})
		}
	}
	var node []netip.Addr
	var addresses []net.Addr // without them no pod is the only one of an address
	if l.HostUnknown == nil {
		addresses, _ = net.InterfaceAddrs()
	}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			node = append(node, prefix.Addr().Unmap())
		}
	}
	t, err = findByIP(pods, node, ip)
	return t, unlessRead(err, unread)
}

// unlessRead adds to the error of a pod that was not found which pods were not read.
func unlessRead(err error, unread []error) error {
	if err == nil || len(unread) == 0 {
		return err
	}
	return errors.Join(append([]error{err}, unread...)...)
}

func (l *Locator) byPort(ctx context.Context, text string) ([]Target, error) {
	port, err := parsePort(text)
	if err != nil {
		return nil, &InvalidError{fmt.Sprintf("port:%s: %v", text, err)}
	}
	ready := slices.DeleteFunc(slices.Clone(l.Pods), func(p *view.Pod) bool { return !p.SandboxReady() })
	mapped := make([]mappedPod, len(ready))
	var unread []error
	for i, err := range cri.ReadEach(ctx, len(ready), func(ctx context.Context, i int) (err error) {
		mapped[i].Pod = ready[i]
		mapped[i].Ports, err = l.Client.HostPorts(ctx, ready[i].ReadySandboxID())
		return err
	}) {
		if err != nil && !errors.Is(err, cri.ErrNotFound) {
			unread = append(unread, fmt.Errorf("pod %s is not read: %w", ready[i].DisplayName(), err))
		}
	}
	found := findByMappedPort(mapped, port)
	if len(found) == 0 {
		err = hint.Errorf("ss -lntup shows which process listens on it, and pid:PID is its pod", "the runtime forwards port %s to no pod", port)
	}
	return found, unlessRead(err, unread)
}
