package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

const runtimeClassFlagName = "runtime-class"

// runtimeClassFlag is the flag of the commands that make sandboxes.
func runtimeClassFlag() cli.Flag {
	return &cli.StringSliceFlag{
		Name:        runtimeClassFlagName,
		Usage:       "take this handler of the runtime for the pods of a runtime class, `NAME=HANDLER`; may be repeated",
		DefaultText: "the handler of the class's name",
	}
}

// readRuntimeClasses are the handlers by class.
func readRuntimeClasses(c *cli.Context) (map[string]string, error) {
	classes := map[string]string{}
	for _, value := range c.StringSlice(runtimeClassFlagName) {
		name, handler, ok := strings.Cut(value, "=")
		if !ok || name == "" || handler == "" {
			return nil, usagef("--%s %q is not NAME=HANDLER", runtimeClassFlagName, value)
		}
		if other, twice := classes[name]; twice && other != handler {
			return nil, usagef("--%s: class %q is both %q and %q", runtimeClassFlagName, name, other, handler)
		}
		classes[name] = handler
	}
	return classes, nil
}
