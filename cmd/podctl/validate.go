package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/manifest"
	"github.com/podctl/podctl/internal/pod"
)

type validateOptions struct {
	globals
	paths []string
}

func validateCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "validate",
		Usage:     "say what the API server would say, with file and line, and what podctl does with each field",
		ArgsUsage: "FILE|DIR|URL|- …",
		Action: func(c *cli.Context) error {
			o := validateOptions{globals: readGlobals(c), paths: c.Args().Slice()}
			if len(o.paths) == 0 {
				return &usageError{message: "no manifest given", hint: "podctl validate FILE|DIR|URL|- …"}
			}
			if o.output != "" && o.output != "json" {
				return usagef("--output %q: validate prints text, or json", o.output)
			}
			return runValidate(c.Context, e, o)
		},
	}
}

// validation is what `podctl validate -o json` prints.
type validation struct {
	Problems []problemLine `json:"problems"` // none in a valid input
	Warnings []problemLine `json:"warnings"` // what is worth knowing of a valid input
	Pods     []validPod    `json:"pods"`     // with problems, those that could be made sense of
}

// problemLine is one thing that is wrong, or worth knowing.
type problemLine struct {
	File    string `json:"file"`            // the file or URL as it was named, or stdin
	Line    int    `json:"line,omitempty"`  // counts from 1; missing where it is about the whole file
	Kind    string `json:"kind,omitempty"`  // of the object that it is about: Pod, ConfigMap, Deployment …
	Name    string `json:"name,omitempty"`  // the object's
	Pod     string `json:"pod,omitempty"`   // the same, if it is a pod
	Field   string `json:"field,omitempty"` // its path: spec.containers[0].image
	Message string `json:"message"`         // what is wrong
	Hint    string `json:"hint,omitempty"`  // what to do about it
}

// validPod is one pod of the input.
type validPod struct {
	File      string      `json:"file"`      // where its document is
	Line      int         `json:"line"`      // where its document begins
	Namespace string      `json:"namespace"` // default, if the manifest names none
	Name      string      `json:"name"`      // as in the manifest
	UID       string      `json:"uid"`       // the manifest's, else made from it
	Fields    []fieldLine `json:"fields"`    // what the manifest sets
}

// fieldLine is a field that the manifest sets.
type fieldLine struct {
	Path    string `json:"path"`    // spec.containers[0].image
	Line    int    `json:"line"`    // where it is
	Support string `json:"support"` // honoured, ignored, refused
}

func runValidate(ctx context.Context, e *env, o validateOptions) error {
	ctx, interrupted := e.untilInterrupt(ctx)
	set, err := manifest.Load(ctx, o.paths, manifest.LoadOptions{Stdin: e.in})
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
	if len(set.Pods) == 0 {
		fmt.Fprintln(e.out, "no pods")
	}
	for _, p := range set.Pods {
		honoured, ignored := 0, 0
		for _, u := range p.Uses() {
			switch u.Support {
			case manifest.Honoured:
				honoured++
			case manifest.Ignored:
				ignored++
			case manifest.Refused: // a problem: the pod is not here
			}
		}
		text := fmt.Sprintf("%s:%d: pod %s is valid, %s honoured", p.File, p.Line, pod.DisplayName(p.Namespace, p.Name), plural(honoured, "field"))
		if ignored > 0 {
			text += fmt.Sprintf(", %d ignored", ignored)
		}
		fmt.Fprintln(e.out, text)
	}
}

func printValidation(e *env, set *manifest.Set, problems manifest.Problems) error {
	v := validation{Problems: problemLines(problems), Warnings: problemLines(set.Warnings), Pods: []validPod{}}
	for _, p := range set.Pods {
		valid := validPod{
			File: p.File, Line: p.Line, Namespace: p.Namespace, Name: p.Name, UID: string(p.UID),
			Fields: []fieldLine{},
		}
		for _, u := range p.Uses() {
			valid.Fields = append(valid.Fields, fieldLine{Path: u.Path, Line: u.Line, Support: u.Support.String()})
		}
		v.Pods = append(v.Pods, valid)
	}
	return printJSON(e, v)
}

func problemLines(problems []manifest.Problem) []problemLine {
	lines := []problemLine{}
	for _, p := range problems {
		lines = append(lines, problemLine{File: p.File, Line: p.Line, Kind: p.Kind, Name: p.Name, Field: p.Field, Message: p.Message, Hint: p.Hint})
	}
	return lines
}

// printJSON prints one value, indented, as a person may read it too.
func printJSON(e *env, v any) error {
	enc := json.NewEncoder(e.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
