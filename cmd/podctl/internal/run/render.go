package run

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/device"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/node/userns"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/secret"
)

type renderOptions struct {
	shell.Globals
	format output.Format
	manifestOptions
	// sandbox and container narrow the output to one config.
	sandbox     bool
	container   string
	showSecrets bool
}

func renderCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "render",
		Usage:   "print the CRI configs of a manifest",
		Args:    cmdline.Args{Of: cmdline.Manifest, Many: true},
		Effect:  cmdline.Reads,
		OnNodes: cmdline.Here,
		Data:    []any{renderedPod{}, renderedContainer{}},
		Description: "With --sandbox or --container the output is input for crictl:\n\n" +
			"   podctl render --sandbox web.yaml > sandbox.yaml\n" +
			"   podctl render --container web web.yaml > container.yaml\n" +
			"   crictl create $(crictl runp sandbox.yaml) container.yaml sandbox.yaml\n\n" +
			"The configs lack what only a running pod has: its addresses and image ids; without\n" +
			"--cgroup-driver that is cgroupfs. Values of\n" +
			"Secrets are replaced by placeholders unless --show-secrets is given.\n" +
			"-o is " + output.DataFormats + "; yaml is the default.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "sandbox", Usage: "print only the sandbox config"},
			&cli.StringFlag{Name: "container", Usage: "print only the config of container `NAME`"},
			&cli.BoolFlag{Name: "show-secrets", Usage: "print the values of Secrets"},
			shell.NoHeadersFlag(),
		}, manifestFlags()...),
		Action: func(c *cli.Context) error {
			o := renderOptions{
				Globals: shell.ReadGlobals(c), showSecrets: c.Bool("show-secrets"),
				sandbox: c.Bool("sandbox"), container: c.String("container"),
			}
			var err error
			if o.manifestOptions, err = readManifestOptions(c); err != nil {
				return err
			}
			if o.format, err = readRenderOutput(c); err != nil {
				return err
			}
			if o.sandbox && o.container != "" {
				return shell.Usagef("--sandbox and --container are mutually exclusive")
			}
			if err := checkCgroupDriver(o.Globals); err != nil {
				return err
			}
			return runRender(c.Context, e, o)
		},
	}
}

// renderedPod is a pod as `podctl render` prints it, one document or object
// after the other. Its configs are in the form that crictl reads.
type renderedPod struct {
	Namespace  string              `json:"namespace"`  // of the pod
	Name       string              `json:"name"`       // of the pod
	Sandbox    any                 `json:"sandbox"`    // the CRI's PodSandboxConfig
	Containers []renderedContainer `json:"containers"` // init containers first
}

// renderedContainer is one of its containers.
type renderedContainer struct {
	Name   string `json:"name"`   // as in the manifest
	Config any    `json:"config"` // the CRI's ContainerConfig
}

func runRender(ctx context.Context, e *shell.Env, o renderOptions) error {
	ctx, interrupted := e.UntilInterrupt(ctx)
	set, err := loadPods(ctx, e, o.manifestOptions)
	if interrupted() {
		return shell.ErrInterrupted
	}
	if err != nil {
		return err
	}
	p, err := o.Paths(cri.Endpoint{})
	if err != nil {
		return err
	}
	facts, err := host.ReadFacts(p.Pods(), p.Logs, p.Seccomp())
	if err != nil {
		return err
	}
	var configs []any
	objects := set.Objects
	if !o.showSecrets {
		objects = secret.Objects(objects)
	}
	for _, p := range set.Pods {
		r, err := renderPod(p.Pod, objects, facts, func(p *v1.Pod) string {
			return cgroup.Parent(cmp.Or(o.CgroupRoot, cgroup.DefaultRoot), cmp.Or(cgroup.Driver(o.CgroupDriver), cgroup.Cgroupfs), p)
		})
		if err != nil {
			return fmt.Errorf("pod %s: %w", pod.DisplayName(p.Namespace, p.Name), err)
		}
		picked, err := pick(r, o)
		if err != nil {
			return err
		}
		configs = append(configs, picked)
	}
	return printConfigs(e, configs, o.format)
}

// renderPod renders the first attempt of a pod and of all its containers.
func renderPod(p *v1.Pod, objects *pod.Objects, facts *render.Node, cgroupParent func(*v1.Pod) string) (renderedPod, error) {
	// The ids of the first pod of a host: which a pod gets is known when it starts.
	users := render.UserNamespace(userns.Length, userns.Length)
	sandbox, err := render.Sandbox(p, render.SandboxInput{Node: facts, CgroupParent: cgroupParent(p), UserNamespace: users})
	if err != nil {
		return renderedPod{}, err
	}
	r := renderedPod{Namespace: p.Namespace, Name: p.Name, Sandbox: sandbox}
	volumes := volume.Paths(facts.PodsDir, p, objects)
	for c := range pod.Containers(p) {
		terminationLog := ""
		if c.TerminationMessagePath != "" {
			terminationLog = filepath.Join(facts.ContainerDir(p.UID, c.Name), "00000000")
		}
		in := render.ContainerInput{
			Node: facts, Image: pod.Image{ID: c.Image}, Volumes: volumes, Objects: objects, TerminationLog: terminationLog,
			EnvFile: func(ref *v1.FileKeySelector) (string, error) {
				return fmt.Sprintf("(%s of %s in volume %s)", ref.Key, ref.Path, ref.VolumeName), nil
			},
		}
		in.UserNamespace = users
		// Which devices of a kind a container gets is known when the pod starts.
		if in.Devices, err = device.Of(p, c.Name, nil); err != nil {
			return renderedPod{}, err
		}
		if err := render.Foresee(p, c, &in); err != nil {
			return renderedPod{}, err
		}
		config, err := render.Container(p, c, in)
		if err != nil {
			return renderedPod{}, err
		}
		r.Containers = append(r.Containers, renderedContainer{Name: c.Name, Config: config})
	}
	return r, nil
}

// pick is the part of a pod that was asked for.
func pick(r renderedPod, o renderOptions) (any, error) {
	if o.sandbox {
		return r.Sandbox, nil
	}
	if o.container == "" {
		return r, nil
	}
	for _, c := range r.Containers {
		if c.Name == o.container {
			return c.Config, nil
		}
	}
	return nil, fmt.Errorf("pod %s has no container %q", pod.DisplayName(r.Namespace, r.Name), o.container)
}

// readRenderOutput reads the format of the configs, YAML by default.
func readRenderOutput(c *cli.Context) (output.Format, error) {
	given := shell.ReadGlobals(c).Output
	format, err := shell.ReadReportOutput(c)
	switch {
	case err != nil:
	case given == "":
		return shell.ReadFormat("yaml")
	case format.IsTable():
		err = &shell.UsageError{Message: fmt.Sprintf("--output %q: render prints data", given), Advice: "one of: " + output.DataFormats}
	}
	return format, err
}

// printConfigs prints the configs, JSON indented as crictl reads it.
func printConfigs(e *shell.Env, configs []any, format output.Format) error {
	stream := format.NewStream(e.Out)
	for _, c := range configs {
		var err error
		if format.Name() == "json" {
			err = output.JSON(e.Out, c)
		} else {
			err = stream.Print("", c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
