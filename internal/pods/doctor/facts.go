package doctor

import (
	"fmt"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pods/leak"
)

// Facts are what was read of a runtime and its host. An error stands beside what it
// kept from being read.
type Facts struct {
	Now time.Time
	// Podctl is the version of this program.
	Podctl string
	// IsRoot: podctl may read everything.
	IsRoot  bool
	Runtime Runtime
	Host    Host
	Disks   []Disk
	Kubelet Kubelet
	Pods    Pods
}

// Runtime is what the runtime reports about itself.
type Runtime struct {
	Endpoint string
	// Err is why there is no connection; nothing else is known then.
	Err       error
	Version   cri.Version
	Status    cri.RuntimeStatus
	StatusErr error
	// Drivers are its cgroup drivers; GivenDriver is the one that the user told podctl to use, ""
	// for none.
	Drivers     cri.CgroupDrivers
	DriverErr   error
	GivenDriver string
	// Events is nil if its event stream opens; Probed is false if it was not opened.
	Events error
	Probed bool
	Config Config
	Server Server
}

// Server is the process that serves the runtime's socket.
type Server struct {
	PID int // 0 if it is not visible
	// CanRaise: it has CAP_SYS_RESOURCE, without which no process may lower an
	// oom_score_adj.
	CanRaise bool
}

// Config is what the verbose status of a runtime shows of its configuration.
type Config struct {
	// Shown: there is one in a known form.
	Shown bool
	// RestrictOOM: containerd does not lower an oom_score_adj.
	RestrictOOM bool
	// Events: CRI-O's enable_pod_events; nil of another runtime.
	Events *bool
	CNI    CNI
}

// CNI is the network configuration that containerd has loaded.
type CNI struct {
	// Shown: the runtime shows it.
	Shown   bool
	BinDirs []string
	ConfDir string
	// LoadStatus is "OK" or why no configuration was loaded.
	LoadStatus string
	Networks   []Network
}

// Network is one CNI configuration.
type Network struct {
	Name string
	// Plugins are its programs, those for addresses included; Missing are those that
	// are in no directory of programs.
	Plugins, Missing []string
	// Pool is its addresses, nil if host-local has none for it.
	Pool *Pool
}

// Host is what is known of the machine.
type Host struct {
	Err error
	// Kernel is its release: 6.1.0-18-amd64.
	Kernel string
	// CgroupVersion is 1 or 2; 0 if there is none.
	CgroupVersion int
	// Systemd: it is the first process.
	Systemd bool
	// UserNamespaces is how many may be made, -1 if it is not known.
	UserNamespaces int
	// SharedRoot: mounts below / propagate.
	SharedRoot bool
	// Forwards: IPv4 packets are forwarded.
	Forwards bool
}

// Disk is the file system of a directory.
type Disk struct {
	// What is kept there: images.
	What, Path string
	Err        error
	// Size and Free in bytes; Inodes and FreeInodes are 0 if the file system has no
	// fixed number.
	Size, Free         uint64
	Inodes, FreeInodes uint64
	// Device tells file systems apart; 0 if it is not known.
	Device uint64
}

// Kubelet is the kubelet that uses the runtime.
type Kubelet struct {
	PID int // 0 if there is none
	// Err is why that is not known, SettingsErr why its settings are not.
	Err, SettingsErr error
	// CgroupDriver is that of its configuration, which it ignores if the runtime names
	// its own.
	CgroupDriver string
	// RootDir and ConfigFile are as it names them, the directory StaticPods is as
	// podctl sees it; "" for none.
	RootDir, ConfigFile, StaticPods string
	// Server and Credential are how it named its pods, of which it has PodCount;
	// AskErr is why it did not.
	Server, Credential string
	PodCount           int
	AskErr             error
}

// Pods are what the runtime lists, and what was found that belongs to none of it.
type Pods struct {
	Err                  error
	Count, Running, Dead int
	// Abandoned are the pods of podctl processes that have exited; Podctls the living ones.
	Abandoned, Podctls []string
	// Hanging are pods that do not start.
	Hanging []string
	// Broken are containers whose processes do not run, although the runtime reports them as
	// running; BrokenNext is the command for the first.
	Broken []string
	// Denied is what the kernel's log says that containers were denied in the last hour.
	Denied []string
	// TakenPorts are host ports of pods on which foreign processes listen.
	TakenPorts []string
	// Doubled are pods of which more than one sandbox is ready.
	Doubled    []string
	BrokenNext string
	// Headless are pods with running containers and no ready sandbox.
	Headless []string
	// Leaks are what containers and sandboxes left that the runtime does not list any more.
	// LeaksErr is why they could not be looked for.
	Leaks    leak.Findings
	LeaksErr error
}

// Level is how bad a finding is.
type Level uint8

// The levels.
const (
	// OK: examined, and as it should be.
	OK Level = iota
	// Info: worth knowing; nothing is wrong.
	Info
	// Warning: something does not work, or will not, in some cases.
	Warning
	// Failure: pods cannot run, or not as they should.
	Failure
)

var levelNames = [...]string{OK: "ok", Info: "info", Warning: "warning", Failure: "failure"}

func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// Finding is the result of one check.
type Finding struct {
	// Name of the check: runtime.network.
	Name  string
	Level Level
	// Evidence is what was observed.
	Evidence string
	// Remedy is what to do; "" if there is nothing to do.
	Remedy string
}

// report collects the findings of one check.
type report struct {
	name     string
	findings []Finding
}

func (r *report) add(level Level, remedy, evidence string, args ...any) {
	if len(args) > 0 {
		evidence = fmt.Sprintf(evidence, args...)
	}
	r.findings = append(r.findings, Finding{Name: r.name, Level: level, Evidence: evidence, Remedy: remedy})
}

func (r *report) ok(evidence string, args ...any)       { r.add(OK, "", evidence, args...) }
func (r *report) info(evidence string, args ...any)     { r.add(Info, "", evidence, args...) }
func (r *report) unknown(what string, err error)        { r.add(Info, "", "%s cannot be read: %v", what, err) }
func (r *report) warn(remedy, text string, args ...any) { r.add(Warning, remedy, text, args...) }
func (r *report) fail(remedy, text string, args ...any) { r.add(Failure, remedy, text, args...) }

// Worst returns the highest level of the findings.
func Worst(findings []Finding) Level {
	worst := OK
	for _, f := range findings {
		worst = max(worst, f.Level)
	}
	return worst
}
