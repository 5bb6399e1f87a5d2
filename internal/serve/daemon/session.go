package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/credential"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/node/userns"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/serve/journal"
	"github.com/podctl/podctl/internal/services"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Options say what a node runs on and what it serves.
type Options struct {
	ConnectOptions
	// Paths are those that the user gave.
	Paths host.Paths
	// Instance owns the pods; Sources are the names that Node.Set takes.
	Instance string
	Sources  []string
	// CgroupRoot and CgroupDriver are those of CgroupOptions.
	CgroupRoot, CgroupDriver string
	// BesideKubelet starts although a kubelet uses the runtime.
	BesideKubelet bool
	// OwnerIsGone: podctl processes that are not seen from here do not exist.
	OwnerIsGone bool
	// UnsafeSysctls are those that pods may set beside the safe ones.
	UnsafeSysctls []string
	// RuntimeClasses maps names of runtime classes to handlers of the runtime.
	RuntimeClasses map[string]string
	// Capacity and Reserved bound what pods may request; nil and nil do not.
	Capacity, Reserved v1.ResourceList
	// Credentials are what images are pulled with beside the pods' own.
	Credentials credential.Config
	// TokenFile has the token of all service accounts; "" is none.
	TokenFile string
	// Resolver reads the resolver configuration that pods inherit.
	Resolver host.Resolver
	// ServiceRange has the addresses of Services; the zero value serves none.
	ServiceRange netip.Prefix
	// WarnServices is told why Services are not served, and must not block.
	WarnServices func(error)
	// KeepLogs and KillUnknown are those of node.Options.
	KeepLogs, KillUnknown bool
	// Address is where metrics and health are served beside the control
	// socket: HOST:PORT, "" for nowhere.
	Address string
	// Listen makes the control socket of an instance.
	Listen func(dir, instance string) (net.Listener, error)
	// Dial connects to one.
	Dial control.Dialer
	// Procs are the processes of the machine.
	Procs proc.FS
	// Events is called for every event of the node and must not block; nil if
	// no events are needed.
	Events func(event.Event)
	Now    func() time.Time
}

// Session is a node on a runtime, with all that has to be closed after it.
type Session struct {
	*node.Node
	Client *cri.Client
	// Facts are the machine's.
	Facts *render.Node
	locks *owner.Locks
	// used are the paths of the node.
	used     host.Paths
	served   *served
	services *services.Manager
	jobs     *jobRunner
	control  controlSocket
	opts     Options
	closes   []func() error
}

// Open connects to the runtime and builds a node. The caller closes the session.
func Open(ctx context.Context, o Options) (_ *Session, err error) {
	served := newServed(o.Now)
	o.Watcher, o.Observer = served.calls, served.metrics
	client, stop, err := Connect(ctx, o.ConnectOptions)
	if err != nil {
		return nil, err
	}
	s := &Session{Client: client, served: served, opts: o}
	s.onClose(func() error { stop(); return nil })
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.checkKubelet(ctx); err != nil {
		return nil, err
	}
	p, err := s.paths()
	if err != nil {
		return nil, err
	}
	runtime, err := owners.Identify(ctx, s.Client)
	if err != nil {
		o.Log.Warn("the runtime is recognized by its socket alone", "err", err)
	}
	s.locks, err = owner.Join(ctx, owner.JoinOptions{
		Run: filepath.Dir(p.Locks), ID: filepath.Base(p.Locks), Instance: o.Instance, Runtime: runtime, Procs: o.Procs,
	})
	if err != nil {
		return nil, err
	}
	s.onClose(s.locks.Close)
	p.Locks = s.locks.Dir()
	s.used = p
	if err := s.build(ctx, p); err != nil {
		return nil, err
	}
	return s, s.serve(p)
}

// Ephemeral reports whether the runtime, and with it the pods, ends with this
// process.
func (s *Session) Ephemeral() bool {
	return s.Client.Endpoint().Runtime == cri.SimEndpoint && !s.opts.SimOutlives
}

// checkKubelet refuses a runtime that a kubelet uses; one that a kubelet may use
// unseen, if pods that may be the kubelet's are to be killed.
func (s *Session) checkKubelet(ctx context.Context) error {
	path, unix := strings.CutPrefix(s.Client.Endpoint().Runtime, "unix://")
	if !unix || s.opts.BesideKubelet {
		return nil
	}
	return s.checkKubeletError(kubelet.CheckNone(ctx, path))
}

func (s *Session) checkKubeletError(err error) error {
	if _, unseen := errors.AsType[*kubelet.UnseenError](err); unseen && !s.opts.KillUnknown {
		return nil
	}
	return err
}

// paths returns the directories of the node.
func (s *Session) paths() (p host.Paths, err error) {
	if s.Ephemeral() {
		p, err = s.ephemeralPaths()
	} else {
		p, err = host.DefaultPaths.With(s.opts.Paths)
	}
	return p.ForRuntime(s.Client.Endpoint().Runtime), err
}

// ephemeralPaths returns directories for pods that end with this process. A pod
// of the same UID on another runtime must neither lose its directory and logs
// to them, nor be refused because of them: they are in no directory of other
// pods and are removed at the end. Logs are in a subdirectory of the log
// directory that the user gave, since they may be kept. Locks are already
// separate for each runtime, and end with the process.
func (s *Session) ephemeralPaths() (host.Paths, error) {
	temporary, err := os.MkdirTemp("", simDirPattern)
	if err != nil {
		return host.Paths{}, err
	}
	s.onClose(func() error { return removeEphemeral(temporary) })
	given := s.opts.Paths
	given.Root = ""
	if given.Logs != "" {
		if given.Logs, err = s.ephemeralLogs(given.Logs); err != nil {
			return host.Paths{}, err
		}
	}
	return host.Below(temporary).With(given)
}

// removeEphemeral removes the directories of pods that end with this process. Parts of the
// host's directories are mounted in them, as on any runtime: they are unmounted before, and
// the directories of a pod stay where that fails.
func removeEphemeral(dir string) error {
	volumes := volume.New(host.Below(dir).Root)
	pods, err := volumes.PodDirs()
	errs := []error{err}
	for _, uid := range pods {
		errs = append(errs, volumes.Unmount(context.Background(), types.UID(uid)))
	}
	return errors.Join(append(errs, volume.RemoveTree(context.Background(), dir))...)
}

// ephemeralLogs makes a subdirectory for logs, which is removed at the end
// unless logs are kept.
func (s *Session) ephemeralLogs(parent string) (string, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("make podctl's directories: %w", err)
	}
	dir, err := os.MkdirTemp(parent, simDirPattern)
	if err != nil {
		return "", err
	}
	if !s.opts.KeepLogs {
		s.onClose(func() error { return os.RemoveAll(dir) })
	}
	return dir, nil
}

const simDirPattern = "podctl-sim-"

func (s *Session) build(ctx context.Context, p host.Paths) error {
	for _, dir := range []string{p.Root, p.Logs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make podctl's directories: %w", err)
		}
	}
	var err error
	if s.Facts, err = host.ReadFacts(p.Pods(), p.Logs, p.Seccomp()); err != nil {
		return err
	}
	dirs := p.Dirs()
	s.Facts.DirName = dirs.Name
	// What resourceFieldRefs and volumes in memory are given is what is bounded.
	s.Facts.Allocatable = admission.Allocatable(s.Facts, s.opts.Capacity, s.opts.Reserved)
	if s.Facts.DNS, err = s.opts.Resolver.Read(s.Facts.IPs); err != nil {
		return err
	}
	policy, err := admission.ReadPolicy(s.opts.UnsafeSysctls)
	if err != nil {
		return err
	}
	policy.Services = serviceAddresses(s.opts.ServiceRange, s.Facts.IPs)
	cgroups, err := OpenCgroups(ctx, s.Client, CgroupOptions{Root: s.opts.CgroupRoot, Runtime: s.locks.Runtime(), Fingerprint: s.locks.Fingerprint(), Driver: s.opts.CgroupDriver, Handler: s.runtimeHandler, RunDir: filepath.Dir(p.Locks), Log: s.opts.Log})
	if err != nil {
		return err
	}
	s.onClose(cgroups.RemoveEmptyParents)
	credentials, err := s.opts.Credentials.Open(credential.ForNode(s.opts.Log), s.opts.Now)
	if err != nil {
		return err
	}
	s.services = s.newServices(p)
	volumes := volume.NewNamed(p.Root, dirs.Name)
	volumes.UseToken(s.opts.TokenFile)
	others := otherProcesses{s.Client, owners.Asker{Locks: s.locks.Dir(), SelfID: s.locks.ID(), Procs: s.opts.Procs, OwnerIsGone: s.opts.OwnerIsGone}}
	s.Node = node.New(node.Options{
		Instance: s.opts.Instance, Sources: s.opts.Sources,
		Runtime: s.Client, Locks: s.locks, Facts: s.Facts, Host: machine{session: s, logs: p.Logs, userIDs: userns.New(p.Root, dirs.Name)}, Admission: policy, Cgroups: cgroups,
		Allocatable: s.allocatable(),
		Dirs:        dirs, Volumes: volumes,
		RuntimeClasses: s.opts.RuntimeClasses,
		KeepLogs:       s.opts.KeepLogs, KillUnknown: s.opts.KillUnknown,
		PLEG:     pleg.Options{Observer: s.served.metrics},
		Observer: s.served.metrics, Probes: s.served.metrics,
		Events: s.served.send(s.withJournal(p)), Log: s.opts.Log,
		Credentials:     credential.Node{Sources: credentials, Log: s.opts.Log}.Credentials,
		OwnersElsewhere: others.owners, OtherPods: others.pods,
		// Below a root that the user gave others may have pods that podctl cannot see.
		KeepLeftoverCgroups: s.opts.CgroupRoot != "",
		HostPorts:           (&hostPorts{runDir: filepath.Dir(p.Locks), own: control.Path(p.Locks, s.opts.Instance), log: s.opts.Log}).reserve,
		PortListeners:       portListeners,
	})
	s.jobs = newJobRunner(s, p)
	return nil
}

// runtimeHandler is not called before the node is made.
func (s *Session) runtimeHandler(p *v1.Pod) string { return s.Node.RuntimeHandler(p) }

// withJournal returns a function that records events in the journal, for pods that
// outlive this process, and passes them on.
func (s *Session) withJournal(p host.Paths) func(event.Event) {
	next := s.opts.Events
	if s.Ephemeral() {
		return next
	}
	w := journal.NewWriter(journal.Dir(p.Root), s.opts.Instance, s.opts.Now, s.opts.Log)
	s.onClose(w.Close)
	return func(ev event.Event) {
		w.Write(ev)
		if next != nil {
			next(ev)
		}
	}
}

// allocatable returns what pods may request on this machine, nil if they are
// not bounded.
func (s *Session) allocatable() v1.ResourceList {
	if s.opts.Capacity == nil && s.opts.Reserved == nil {
		return nil
	}
	return s.Facts.Allocatable
}

// Alive counts the pods that have not ended.
func (s *Session) Alive() int {
	n := 0
	for _, i := range s.Pods() {
		if !i.Ended() {
			n++
		}
	}
	return n
}

func (s *Session) onClose(f func() error) { s.closes = append(s.closes, f) }

// Close closes everything that Open opened, in reverse order.
func (s *Session) Close() error {
	var errs []error
	for _, c := range slices.Backward(s.closes) {
		errs = append(errs, c())
	}
	s.closes = nil
	return errors.Join(errs...)
}
