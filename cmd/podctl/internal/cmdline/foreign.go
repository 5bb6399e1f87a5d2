package cmdline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// ForeignCommands maps commands of kubectl, crictl and podman to what podctl has
// in their place.
var ForeignCommands = map[string]string{
	"get": "podctl pods, podctl images, podctl events", "containers": "podctl ps, podctl describe POD, podctl top containers",
	"apply": "podctl run FILE, or podctl agent --manifests DIR", "create": "podctl run FILE, or podctl agent --manifests DIR",
	"play": "podctl run FILE", "kube": "podctl run FILE", "runp": "podctl run FILE",
	"kill":  "podctl stop stops a pod, podctl rm removes it",
	"leaks": "podctl orphans lists what has leaked",
	"drain": "podctl agent --drain terminates its pods on exit",
	"image": "podctl images, podctl pull, podctl rmi", "inspecti": "podctl images -o yaml",
	"stats": "podctl top containers", "statsp": "podctl top pods",
	"info": "podctl doctor", "imagefsinfo": "podctl doctor", "runtime-config": "podctl doctor",
	"metricsp": "podctl top", "metricdescs": "podctl top --help names what is measured",
	"checkpoint":            "podctl makes no checkpoints",
	"update":                "podctl agent resizes a running pod when its manifest changes",
	"update-runtime-config": "podctl uses the network configuration of the runtime: podctl doctor",
	"edit":                  "podctl agent follows changes of a manifest", "patch": "podctl agent follows changes of a manifest",
	"scale":  "podctl run --replicas NUMBER",
	"config": "podctl help environment",
}

// ForeignFlag returns a hint for a flag of kubectl's or crictl's, by its name
// without dashes, that the command does not have, "" if there is none. program is
// "podctl" and the command's full name.
func (c *Command) ForeignFlag(name, program string) string {
	if hint := c.FlagHints[name]; hint != "" {
		return hint
	}
	has := func(flag string) bool { return slices.Contains(FlagNames(c.Flags), flag) }
	switch name {
	case "f", "filename":
		switch {
		case c.Args.Of == Manifest, c.Args.Of == File:
			return program + " FILE"
		case has("manifests"):
			return program + " --manifests DIR"
		}
	case "q", "quiet":
		if has("no-headers") {
			return "-o name"
		}
	case "now":
		if has("grace-period") {
			return "--grace-period 1"
		}
	case "t":
		if has("grace-period") {
			return "--grace-period SECONDS"
		}
	}
	return ""
}

// InvalidFlag returns the name of the flag whose value a usage error of the
// library is about.
func InvalidFlag(message string) (name string, ok bool) {
	_, after, ok := strings.Cut(message, " for flag -")
	name, _, _ = strings.Cut(after, ":")
	return name, ok && strings.HasPrefix(message, "invalid value ")
}

// InvalidBool returns the name and the value of a boolean flag that a usage error
// of the library is about.
func InvalidBool(message string) (name, value string, ok bool) {
	rest, ok := strings.CutPrefix(message, `invalid boolean value "`)
	if !ok {
		return "", "", false
	}
	rest = strings.TrimSuffix(rest, ": parse error")
	i := strings.LastIndex(rest, `" for -`)
	if i < 0 {
		return "", "", false
	}
	return strings.TrimLeft(rest[i+len(`" for -`):], "-"), rest[:i], true
}

// ValueHint returns an example of a flag's value, "" if it needs none.
func ValueHint(name string, flags []cli.Flag) string {
	if name == "timeout" && slices.Contains(FlagNames(flags), "grace-period") {
		return "--grace-period SECONDS; --timeout is that of CRI calls: --timeout 30s"
	}
	for _, f := range flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		switch f.(type) {
		case *cli.DurationFlag:
			return "a duration has a unit: " + Dashed(name) + " 30s, 5m, 1h30m"
		case *cli.IntFlag, *cli.Int64Flag, *cli.UintFlag:
			return "an integer without a unit: " + Dashed(name) + " 5"
		}
	}
	return ""
}
