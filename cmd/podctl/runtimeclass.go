package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

const runtimeClassFlagName = "runtime-class"

// runtimeClassFlag is a flag of the commands that create sandboxes.
func runtimeClassFlag() cli.Flag {
	return &cli.StringSliceFlag{
		Name:        runtimeClassFlagName,
		Usage:       "runtime handler of a runtime class, `CLASS=HANDLER`; repeatable",
		DefaultText: "the class's name",
	}
}

// readRuntimeClasses returns the handlers by class.
func readRuntimeClasses(c *cli.Context) (map[string]string, error) {
	classes := map[string]string{}
	for _, value := range c.StringSlice(runtimeClassFlagName) {
		name, handler, ok := strings.Cut(value, "=")
		if !ok || name == "" || handler == "" {
			return nil, usagef("--%s %q is not CLASS=HANDLER", runtimeClassFlagName, value)
		}
		if other, twice := classes[name]; twice && other != handler {
			return nil, usagef("--%s: class %q has both %q and %q", runtimeClassFlagName, name, other, handler)
		}
		classes[name] = handler
	}
	return classes, nil
}
