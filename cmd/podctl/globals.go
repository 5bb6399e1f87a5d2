package main

import (
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/host"
)

// globals are the settings that every command understands, given before or
// after the command's name.
type globals struct {
	runtime, image string
	// timeout bounds runtime calls that only read; 0 is crictl's setting, or
	// ours.
	timeout time.Duration
	// root, logDir and runDir are "" where not given: see paths.
	root, logDir, runDir string
	// cgroupRoot is "" where not given: see daemon.CgroupOptions.
	cgroupRoot string
	output     string
	noColor    bool
	// noTrunc: nothing is cut, and ids are shown.
	noTrunc bool
}

// globalFlags are those of the program, before the command's name. They alone
// read the environment: else a variable would win over them.
func globalFlags() []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "runtime-endpoint", Aliases: []string{"r"}, DefaultText: "as crictl finds it", Usage: "CRI `SOCKET`; sim: is a runtime in this process"},
		&cli.StringFlag{Name: "image-endpoint", Aliases: []string{"i"}, DefaultText: "the same", Usage: "CRI `SOCKET` for images"},
		&cli.DurationFlag{Name: "timeout", DefaultText: "crictl's setting, else " + cri.DefaultTimeout.String(), Usage: "`TIME` that calls of the runtime may take which only read"},
		&cli.StringFlag{Name: "root", DefaultText: host.DefaultPaths.Root, Usage: "`DIR` of pod directories"},
		&cli.StringFlag{Name: "log-dir", DefaultText: host.DefaultPaths.Logs, Usage: "`DIR` of container logs"},
		&cli.StringFlag{Name: "run-dir", DefaultText: host.DefaultPaths.Locks, Usage: "`DIR` of locks"},
		&cli.StringFlag{Name: "cgroup-root", DefaultText: "podctl-ID, one for each runtime", Usage: "`NAME` of the cgroup above all pods"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, DefaultText: "for people", Usage: "output `FORMAT`: json, and what else the command has"},
		&cli.BoolFlag{Name: "no-color", Usage: "no colours; so does a NO_COLOR that is not empty"},
		&cli.BoolFlag{Name: "no-trunc", Usage: "cut nothing, and show ids in full"},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "log what is done"},
		&cli.BoolFlag{Name: "debug", Usage: "log every runtime call, too"},
	}
	return withEnv(flags, func(name string) []string { return []string{globalEnv(name)} })
}

// globalEnv is the environment variable of a global flag.
func globalEnv(name string) string {
	return "PODCTL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// commandGlobals are the global flags as they may be given after the
// command's name.
func commandGlobals() []cli.Flag {
	return withEnv(globalFlags(), func(string) []string { return nil })
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

// readGlobals reads the flags wherever they were given: one behind the
// command wins over one before it.
func readGlobals(c *cli.Context) globals {
	return globals{
		runtime: nearest(c, "runtime-endpoint", (*cli.Context).String), image: nearest(c, "image-endpoint", (*cli.Context).String),
		timeout: nearest(c, "timeout", (*cli.Context).Duration),
		root:    nearest(c, "root", (*cli.Context).String), logDir: nearest(c, "log-dir", (*cli.Context).String),
		runDir: nearest(c, "run-dir", (*cli.Context).String), cgroupRoot: nearest(c, "cgroup-root", (*cli.Context).String),
		output: nearest(c, "output", (*cli.Context).String), noColor: nearest(c, "no-color", (*cli.Context).Bool),
		noTrunc: nearest(c, "no-trunc", (*cli.Context).Bool),
	}
}

// nearest is the value of a flag in the nearest context that sets it.
func nearest[T any](c *cli.Context, name string, get func(*cli.Context, string) T) T {
	for _, at := range c.Lineage() {
		if at.IsSet(name) {
			return get(at, name)
		}
	}
	var zero T
	return zero
}

// version is that of the module, as the go command stamped it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
