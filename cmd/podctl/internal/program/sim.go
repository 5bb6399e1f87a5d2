package program

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/ownsocket"
	"github.com/podctl/podctl/internal/sys/suggest"
)

// maxImagesFile bounds the file of --images, in bytes.
const maxImagesFile = 1 << 20

type simOptions struct {
	socket string // absolute
	delays map[string]time.Duration
	hangs  []string
	images []byte // of the file
	pods   int
	seed   uint64
	listen bool // at the loopback
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
			"in place of a container's command.\n\n" +
			"   podctl sim --listen /tmp/sim.sock &\n" +
			"   podctl -r /tmp/sim.sock agent --manifests DIR\n" +
			"   podctl sim --listen /tmp/sim.sock --delay RunPodSandbox=300ms --hang StopPodSandbox\n" +
			"   podctl sim --listen /tmp/sim.sock --pods 110 --seed 7",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Usage: "unix `SOCKET` to create, with mode 0600; one that a process serves is refused"},
			&cli.StringSliceFlag{Name: "delay", Usage: "delay of each call of a CRI method, as `METHOD=DURATION`; repeatable"},
			&cli.StringSliceFlag{Name: "hang", Usage: "CRI `METHOD` whose calls never answer; repeatable"},
			&cli.StringFlag{Name: "images", Usage: "YAML `FILE` with images that differ from one that exists and has only a shell"},
			&cli.BoolFlag{Name: "loopback", Usage: "give pods addresses of 127.88.0.0/16, where containers listen that run httpd, and open their host ports"},
			&cli.IntFlag{Name: "pods", Usage: "`NUMBER` of pods to start with, as of a kubelet"},
			&cli.Uint64Flag{Name: "seed", Usage: "`SEED` of these pods: the same seed, the same pods"},
		},
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
	opts := simOptions{delays: map[string]time.Duration{}, hangs: c.StringSlice("hang"), pods: c.Int("pods"), seed: c.Uint64("seed"), listen: c.Bool("loopback")}
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
	for _, text := range c.StringSlice("delay") {
		method, value, _ := strings.Cut(text, "=")
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return opts, shell.Usagef("--delay %q: want METHOD=DURATION, for example RunPodSandbox=300ms", text)
		}
		if err := known("--delay", method); err != nil {
			return opts, err
		}
		opts.delays[method] = d
	}
	for _, method := range opts.hangs {
		if err := known("--hang", method); err != nil {
			return opts, err
		}
	}
	return opts, nil
}

// known returns an error for what is no method of the CRI.
func known(flag, method string) error {
	methods := sim.Methods()
	if slices.Contains(methods, method) {
		return nil
	}
	usage := &shell.UsageError{Message: fmt.Sprintf("%s: the CRI has no method %q", flag, method)}
	if near := suggest.Word(method, methods); near != "" {
		usage.Advice = "did you mean " + near + "?"
	}
	return usage
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
	for method, d := range opts.delays {
		runtime.Delay(method, "", d)
	}
	for _, method := range opts.hangs {
		runtime.Hang(method, "")
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
		return l.Close()
	case err := <-served:
		return errors.Join(fmt.Errorf("serve: %w", err), l.Close())
	}
}
