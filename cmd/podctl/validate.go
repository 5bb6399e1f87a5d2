package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/manifest"
	"github.com/podctl/podctl/internal/pod"
)

type validateOptions struct {
	globals
	reading
}

func validateCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "validate",
		Usage:     "validate manifests as the API server would, and report how podctl treats each field",
		ArgsUsage: "FILE|DIR|URL|- …",
		Flags:     readingFlags(),
		Action: func(c *cli.Context) error {
			o := validateOptions{globals: readGlobals(c)}
			var err error
			if o.reading, err = readReading(c); err != nil {
				return err
			}
			if o.output != "" && o.output != "json" {
				return usagef("--output %q: validate prints text or json", o.output)
			}
			return runValidate(c.Context, e, o)
		},
	}
}

func runValidate(ctx context.Context, e *env, o validateOptions) error {
	ctx, interrupted := e.untilInterrupt(ctx)
	set, err := o.load(ctx, e)
	if interrupted() {
		return errInterrupted
	}
	var problems manifest.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	if o.output == "json" {
		if err := printValidation(e, set, problems); err != nil {
			return err
		}
	} else {
		printValidated(e, set, problems)
	}
	if len(problems) > 0 {
		return errors.New(problems.Summary())
	}
	return nil
}

func printValidated(e *env, set *manifest.Set, problems manifest.Problems) {
	for _, w := range set.Warnings {
		printWarning(e, w)
	}
	if len(problems) > 0 {
		fmt.Fprintln(e.out, problems.Error())
		return
	}
	if len(set.Pods) == 0 && len(set.Documents) == 0 {
		fmt.Fprintln(e.out, "no pods")
	}
	type line struct {
		file string
		line int
		text string
	}
	var lines []line
	made := map[*manifest.Pod]bool{}
	for _, d := range set.Documents {
		var pods []string
		for _, p := range d.Pods {
			made[p] = true
			pods = append(pods, p.Name)
		}
		text := fmt.Sprintf("%s %s %s", strings.ToLower(d.Kind), pod.DisplayName(d.Namespace, d.Name), validFields(d.Uses()))
		if len(pods) > 0 {
			text += ", runs as " + strings.Join(pods, ", ")
		}
		lines = append(lines, line{d.File, d.Line, text})
	}
	for _, p := range set.Pods {
		if !made[p] {
			lines = append(lines, line{p.File, p.Line, fmt.Sprintf("pod %s %s", pod.DisplayName(p.Namespace, p.Name), validFields(p.Uses()))})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	for _, l := range lines {
		fmt.Fprintf(e.out, "%s:%d: %s\n", l.file, l.line, l.text)
	}
}

// validFields counts the fields of a valid document.
func validFields(uses []manifest.Use) string {
	honoured, ignored := 0, 0
	for _, u := range uses {
		switch u.Support {
		case manifest.Honoured:
			honoured++
		case manifest.Ignored:
			ignored++
		case manifest.Refused: // a problem: the document is not here
		}
	}
	text := fmt.Sprintf("is valid, %s honoured", output.Plural(honoured, "field"))
	if ignored > 0 {
		text += fmt.Sprintf(", %d ignored", ignored)
	}
	return text
}
