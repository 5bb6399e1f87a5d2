package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// foreignCommands are commands of kubectl, crictl and podman that podctl has
// under another name, or not at all, with a hint at what to type.
var foreignCommands = map[string]string{
	"get": "podctl pods", "ps": "podctl pods", "ls": "podctl pods", "list": "podctl pods",
	"describe": "podctl pods -o yaml NAMESPACE/NAME", "inspectp": "podctl pods -o yaml NAMESPACE/NAME",
	"apply": "podctl run FILE, or podctl agent --manifests DIR", "create": "podctl run FILE, or podctl agent --manifests DIR",
	"play": "podctl run FILE", "kube": "podctl run FILE", "runp": "podctl run FILE",
	"delete": "podctl stop ends a pod, podctl rm removes it", "kill": "podctl stop ends a pod, podctl rm removes it",
	"stopp": "podctl stop", "rmp": "podctl rm", "restart": "podctl stop, and podctl start",
	"events": "podctl pleg watch", "top": "podctl pods", "drain": "podctl agent --drain ends its pods when it ends",
	"version": "podctl --version",
}

// foreignFlag is the same for a flag of theirs, by its name without dashes,
// that a command does not have. program is the command's name with podctl's.
func foreignFlag(name, program string, c *cli.Command) string {
	has := func(flag string) bool { return slices.Contains(flagNames(c.VisibleFlags()), flag) }
	switch name {
	case "f", "filename":
		if strings.HasPrefix(c.ArgsUsage, "FILE") {
			return program + " FILE"
		}
		if has("manifests") {
			return program + " --manifests DIR"
		}
	case "A", "all-namespaces":
		if has("selector") {
			return "the pods of all namespaces are shown, unless there is --namespace"
		}
	case "now":
		if has("grace-period") {
			return "--grace-period 1"
		}
	}
	return ""
}

// unreadableFlag is the name of the flag whose value a usage error of the
// library is about.
func unreadableFlag(message string) (name string, ok bool) {
	_, after, ok := strings.Cut(message, " for flag -")
	name, _, _ = strings.Cut(after, ":")
	return name, ok && strings.HasPrefix(message, "invalid value ")
}

// valueHint says how the value of a flag is written, "" if there is nothing to
// say.
func valueHint(name string, flags []cli.Flag) string {
	for _, f := range flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		switch f.(type) {
		case *cli.DurationFlag:
			return "a time has a unit: " + dashed(name) + " 30s, 5m, 1h30m"
		case *cli.IntFlag, *cli.Int64Flag:
			return "a whole number, without a unit: " + dashed(name) + " 5"
		}
	}
	return ""
}
