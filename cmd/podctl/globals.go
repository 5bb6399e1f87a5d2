package main

import (
	"runtime/debug"
	"time"

	"github.com/urfave/cli/v2"
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
	output               string
	noColor              bool
}

func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "runtime-endpoint", Aliases: []string{"r"}, EnvVars: []string{"PODCTL_RUNTIME_ENDPOINT"}, Usage: "CRI `SOCKET`; sim: is a runtime in this process"},
		&cli.StringFlag{Name: "image-endpoint", Aliases: []string{"i"}, EnvVars: []string{"PODCTL_IMAGE_ENDPOINT"}, Usage: "CRI image `SOCKET`, where it is another"},
		&cli.DurationFlag{Name: "timeout", EnvVars: []string{"PODCTL_TIMEOUT"}, Usage: "bound on runtime calls that only read"},
		&cli.StringFlag{Name: "root", EnvVars: []string{"PODCTL_ROOT"}, Usage: "`DIR` of pod directories (default /var/lib/podctl)"},
		&cli.StringFlag{Name: "log-dir", EnvVars: []string{"PODCTL_LOG_DIR"}, Usage: "`DIR` of container logs (default /var/log/podctl/pods)"},
		&cli.StringFlag{Name: "run-dir", EnvVars: []string{"PODCTL_RUN_DIR"}, Usage: "`DIR` of locks (default /run/podctl)"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, EnvVars: []string{"PODCTL_OUTPUT"}, Usage: "output `FORMAT`: json, and what else the command has"},
		&cli.BoolFlag{Name: "no-color", EnvVars: []string{"NO_COLOR"}, Usage: "no colours"},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, EnvVars: []string{"PODCTL_VERBOSE"}, Usage: "log what is done"},
		&cli.BoolFlag{Name: "debug", EnvVars: []string{"PODCTL_DEBUG"}, Usage: "log every runtime call, too"},
	}
}

// readGlobals reads the flags wherever they were given: one behind the
// command wins over one before it.
func readGlobals(c *cli.Context) globals {
	return globals{
		runtime: nearest(c, "runtime-endpoint", (*cli.Context).String), image: nearest(c, "image-endpoint", (*cli.Context).String),
		timeout: nearest(c, "timeout", (*cli.Context).Duration),
		root:    nearest(c, "root", (*cli.Context).String), logDir: nearest(c, "log-dir", (*cli.Context).String),
		runDir: nearest(c, "run-dir", (*cli.Context).String),
		output: nearest(c, "output", (*cli.Context).String), noColor: nearest(c, "no-color", (*cli.Context).Bool),
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
