package shell

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/leak"
	"github.com/podctl/podctl/internal/serve/daemon"
)

// Globals are the settings of every command, given before or after the
// command's name.
type Globals struct {
	Runtime, Image string
	// Timeout bounds read-only CRI calls; 0 is crictl's setting or the default.
	Timeout time.Duration
	// root, logDir and runDir are "" where not given: see paths.
	Root, LogDir, RunDir string
	// CgroupRoot and CgroupDriver are "" where not given: see daemon.CgroupOptions.
	CgroupRoot, CgroupDriver string

	Output  string
	NoColor bool
	// noTrunc: output is not truncated, and ids are shown.
	NoTrunc bool
}

// GlobalFlags are the flags before the command's name. Only they read the
// environment, so that a flag before the command wins over a variable.
func GlobalFlags() []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "runtime-endpoint", Aliases: []string{"r"}, DefaultText: "as crictl", Usage: "CRI `ENDPOINT`; sim: simulates a runtime in this process, tape:FILE is a recording of podctl record"},
		&cli.StringFlag{Name: "image-endpoint", Aliases: []string{"i"}, DefaultText: "runtime endpoint", Usage: "CRI `ENDPOINT` of the image service"},
		&cli.DurationFlag{Name: "timeout", DefaultText: cri.DefaultTimeout.String(), Usage: "timeout for read-only CRI calls, a `DURATION`; by default crictl's, if it is set"},
		&cli.StringFlag{Name: "root", DefaultText: host.DefaultPaths.Root, Usage: "`DIR` of pod directories"},
		&cli.StringFlag{Name: "log-dir", DefaultText: host.DefaultPaths.Logs, Usage: "`DIR` of container logs"},
		&cli.StringFlag{Name: "run-dir", DefaultText: host.DefaultPaths.Locks, Usage: "`DIR` of locks"},
		&cli.StringFlag{Name: "cgroup-root", DefaultText: "podctl-RUNTIME", Usage: "`NAME` of the parent cgroup of all pods"},
		&cli.StringFlag{Name: "cgroup-driver", DefaultText: "the runtime's", Usage: "cgroup `DRIVER` of the runtime: cgroupfs or systemd"},
		&cli.StringFlag{Name: hostRootFlag, DefaultText: "/", Usage: "`DIR` at which the root directory of the host is mounted, for podctl in a container; all paths are then the host's"},
		&cli.BoolFlag{Name: readOnlyFlag, Usage: "refuse every command that changes something"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, DefaultText: "table", Usage: "output `FORMAT`: table (text, of a command that prints no table), json, or one that the command lists"},
		&cli.BoolFlag{Name: "no-color", Usage: "disable colors, as a non-empty NO_COLOR does"},
		&cli.BoolFlag{Name: "no-trunc", Usage: "do not truncate output, and show ids in full"},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "verbose logging"},
		&cli.BoolFlag{Name: "debug", Usage: "log every CRI call"},
	}
	return withEnv(flags, func(name string) []string { return []string{globalEnv(name)} })
}

// globalEnv is the environment variable of a global flag.
func globalEnv(name string) string {
	return "PODCTL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

const hostRootFlag = "host-root"

// HostRoot is the directory of --host-root, "/" without one.
func HostRoot(c *cli.Context) string {
	return cmp.Or(Nearest(c, hostRootFlag, (*cli.Context).String), "/")
}

// CommandGlobals are the global flags after the command's name.
func CommandGlobals() []cli.Flag {
	return withEnv(GlobalFlags(), func(string) []string { return nil })
}

// withEnv sets the environment variables of flags.
func withEnv(flags []cli.Flag, env func(name string) []string) []cli.Flag {
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.StringFlag:
			f.EnvVars = env(f.Name)
		case *cli.DurationFlag:
			f.EnvVars = env(f.Name)
		case *cli.BoolFlag:
			f.EnvVars = env(f.Name)
		}
	}
	return flags
}

// ReadGlobals reads the global flags: one after the command wins over one
// before it.
func ReadGlobals(c *cli.Context) Globals {
	return Globals{
		Runtime: Nearest(c, "runtime-endpoint", (*cli.Context).String), Image: Nearest(c, "image-endpoint", (*cli.Context).String),
		Timeout: Nearest(c, "timeout", (*cli.Context).Duration),
		Root:    Nearest(c, "root", (*cli.Context).String), LogDir: Nearest(c, "log-dir", (*cli.Context).String),
		RunDir: Nearest(c, "run-dir", (*cli.Context).String), CgroupRoot: Nearest(c, "cgroup-root", (*cli.Context).String),
		CgroupDriver: Nearest(c, "cgroup-driver", (*cli.Context).String),
		Output:       Nearest(c, "output", (*cli.Context).String), NoColor: Nearest(c, "no-color", (*cli.Context).Bool),
		NoTrunc: Nearest(c, "no-trunc", (*cli.Context).Bool),
	}
}

// LeakFinder returns a finder of what sandboxes left that the runtime does not list.
func (g Globals) LeakFinder(ctx context.Context, e *Env, client *cri.Client) *leak.Finder {
	f := &leak.Finder{Client: client, Host: leak.DefaultHost(), Now: e.Now}
	if g.CgroupRoot == "" { // else several runtimes may have one, as without a fingerprint
		if runtime, err := owners.Identify(ctx, client); err == nil && runtime.Fingerprint() != "" {
			f.CgroupRoot = host.CgroupRoot("", runtime.Fingerprint())
		}
	}
	return f
}

// Nearest returns the value of a flag in the nearest context that sets it.
func Nearest[T any](c *cli.Context, name string, get func(*cli.Context, string) T) T {
	for _, at := range c.Lineage() {
		if at.IsSet(name) {
			return get(at, name)
		}
	}
	var zero T
	return zero
}

// CallTimeout returns the global --timeout of a command that has a flag of that name itself.
func CallTimeout(c *cli.Context) time.Duration {
	for _, at := range c.Lineage() {
		if at.Command != c.Command {
			return Nearest(at, "timeout", (*cli.Context).Duration)
		}
	}
	return 0
}

// Connect finds the runtime and connects to it. The function that it returns
// closes the connection and is never nil.
func Connect(ctx context.Context, e *Env, g Globals) (*cri.Client, func(), error) {
	return ConnectWatched(ctx, e, g, nil, nil)
}

// ConnectWatched connects; the watcher is called for every call while it is in
// flight, the observer once it has ended.
func ConnectWatched(ctx context.Context, e *Env, g Globals, watcher cri.CallWatcher, observer cri.Observer) (*cri.Client, func(), error) {
	o := g.ConnectOptions(e)
	o.Watcher, o.Observer = watcher, observer
	return daemon.Connect(ctx, o)
}

// ConnectOptions are how the user wants to connect, without watchers of the calls.
func (g Globals) ConnectOptions(e *Env) daemon.ConnectOptions {
	o := daemon.ConnectOptions{
		Runtime: g.Runtime, Image: g.Image, Timeout: g.Timeout, SimOutlives: e.SimOutlives, Log: e.Log,
		Simulate: func() (func(context.Context) (net.Conn, error), func()) {
			runtime, stop := e.Simulate()
			return runtime.Dial, stop
		},
		OnLargeList: func(err error) { printWithHint(e.Errw, "warning", err) },
	}
	if e.Recording != nil {
		o.Dial = e.Recording.Dial
	}
	return o
}

// Given are the directories that the user gave.
func (g Globals) Given() host.Paths { return host.Paths{Root: g.Root, Logs: g.LogDir, Locks: g.RunDir} }

// Paths are podctl's directories on a runtime.
func (g Globals) Paths(endpoint cri.Endpoint) (host.Paths, error) {
	if cri.IsRecording(g.Runtime) {
		return notRecorded, nil
	}
	p, err := host.DefaultPaths.With(g.Given())
	return p.ForRuntime(endpoint.Runtime), err
}

// Version returns the version of the module, as stamped by the go command.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// PodctlVersion is the version of podctl.
type PodctlVersion struct {
	Version    string `json:"version"`          // of the module
	Commit     string `json:"commit,omitempty"` // that it was built from, with -dirty if files had changed
	Kubernetes string `json:"kubernetes"`       // whose kubelet podctl follows
	Go         string `json:"go"`               // that it was built with
	Platform   string `json:"platform"`         // linux/amd64
}

// Detail is all of it but the version, as a line.
func (v PodctlVersion) Detail() string {
	text := fmt.Sprintf("kubelet of Kubernetes %s, %s, %s", v.Kubernetes, v.Go, v.Platform)
	if v.Commit == "" {
		return text
	}
	commit, dirty, _ := strings.Cut(v.Commit, "-")
	if dirty != "" {
		dirty = "-" + dirty
	}
	return "commit " + commit[:min(len(commit), 12)] + dirty + ", " + text
}

// kubernetesModule is the module whose kubelet podctl follows.
const kubernetesModule = "k8s.io/kubernetes"

// ThisVersion is the version of this program, as the go command stamped it.
func ThisVersion() PodctlVersion {
	v := PodctlVersion{Version: Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Commit = s.Value + v.Commit
		case s.Key == "vcs.modified" && s.Value == "true":
			v.Commit += "-dirty"
		}
	}
	for _, m := range info.Deps {
		if m.Path == kubernetesModule {
			v.Kubernetes = cmp.Or(m.Version, v.Kubernetes)
		}
	}
	return v
}
