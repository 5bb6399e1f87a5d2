package program

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/ownsocket"
)

// maxImagesFile bounds the file of --images, in bytes.
const maxImagesFile = 1 << 20

type simOptions struct {
	socket string // absolute
	images []byte // of the file
	pods   int
	seed   uint64
	listen bool // at the loopback
	rules  []rules.Rule
}

// simCommand returns `podctl sim`.
func simCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "sim",
		Usage:   "serve a simulated CRI runtime at a unix socket, for development",
		Effect:  cmdline.Changes,
		OnNodes: cmdline.NotOnNodes,
		Description: "Nothing runs: containers are goroutines of this process, every image exists, and the runtime\n" +
			"answers as containerd does, also to a kubelet and to crictl. Only its user can connect to the\n" +
			"socket. Prints the endpoint, and serves it until Ctrl-C. The pods of the runtime end with the\n" +
			"process; the log files that its clients asked for stay. Containers read the files of their mounts,\n" +
			"and write no file of the host but the termination message.\n\n" +
			"A shell script in the pod's annotation sim.podctl.io/script, or sim.podctl.io/script.CONTAINER, is run\n" +
			"in place of a container's command. Calls fail as the rules of --inject and --rules say, of which podctl proxy\n" +
			"--help tells.\n\n" +
			"   podctl sim --listen /tmp/sim.sock &\n" +
			"   podctl -r /tmp/sim.sock agent --manifests DIR\n" +
			"   podctl sim --listen /tmp/sim.sock --inject 'method=StopPodSandbox hang'\n" +
			"   podctl sim --listen /tmp/sim.sock --pods 110 --seed 7",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "listen", Usage: "unix `SOCKET` to create, with mode 0600; one that a process serves is refused"},
			&cli.StringFlag{Name: "images", Usage: "YAML `FILE` with images that differ from one that exists and has only a shell"},
			&cli.BoolFlag{Name: "loopback", Usage: "give pods addresses of 127.88.0.0/16, where containers listen that run httpd, and open their host ports"},
			&cli.IntFlag{Name: "pods", Usage: "`NUMBER` of pods to start with, as of a kubelet"},
			&cli.Uint64Flag{Name: "seed", Usage: "`SEED` of these pods: the same seed, the same pods"},
		}, shell.RuleFlags()...),
		Action: func(c *cli.Context) error {
			opts, err := readSim(c)
			if err != nil {
				return err
			}
			ctx, interrupted := e.UntilInterrupt(c.Context)
			defer interrupted()
			return runSim(ctx, e, opts)
		},
	}
}

func readSim(c *cli.Context) (simOptions, error) {
	opts := simOptions{pods: c.Int("pods"), seed: c.Uint64("seed"), listen: c.Bool("loopback")}
	if c.String("listen") == "" {
		return opts, shell.Usagef("--listen SOCKET is required")
	}
	var err error
	if opts.socket, err = filepath.Abs(strings.TrimPrefix(c.String("listen"), "unix://")); err != nil {
		return opts, err
	}
	if opts.pods < 0 {
		return opts, shell.Usagef("--pods %d: want a number of pods", opts.pods)
	}
	if file := c.String("images"); file != "" {
		if opts.images, err = bounded.Read(file, maxImagesFile); err != nil {
			return opts, err
		}
	}
	if opts.rules, err = shell.ReadInject(c); err != nil {
		return opts, err
	}
	all, _, err := shell.ReadRules(c.String("rules"))
	if err != nil {
		return opts, &shell.UsageError{Message: err.Error()}
	}
	opts.rules = append(opts.rules, all...)
	return opts, nil
}

// run serves until ctx ends, which is no error.
func runSim(ctx context.Context, e *shell.Env, opts simOptions) error {
	shell.Settle()
	runtime, end := e.Simulate()
	defer end()
	if opts.listen {
		runtime.SetLoopback()
	}
	if err := runtime.LoadImages(opts.images); err != nil {
		return shell.Usagef("--images: %v", err)
	}
	if err := runtime.Fill(ctx, opts.pods, opts.seed); err != nil {
		return err
	}
	if err := runtime.Faults.Change(rules.Change{Add: opts.rules}); err != nil {
		return err
	}
	l, err := ownsocket.Listen(opts.socket)
	if err != nil {
		return err
	}
	runtime.SetStorage(opts.socket)
	served := make(chan error, 1)
	go func() { served <- runtime.Serve(l) }()
	fmt.Fprintf(e.Out, "unix://%s\n", opts.socket)
	select {
	case <-ctx.Done():
		shell.PrintRules(e, runtime.Faults.Rules())
		return l.Close()
	case err := <-served:
		return errors.Join(fmt.Errorf("serve: %w", err), l.Close())
	}
}
