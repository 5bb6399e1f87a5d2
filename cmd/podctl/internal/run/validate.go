package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pod"
)

type validateOptions struct {
	shell.Globals
	manifestOptions
	format output.Format
}

func validateCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:        "validate",
		Usage:       "validate manifests as the API server would, and report how podctl treats each field",
		Args:        cmdline.Args{Of: cmdline.Manifest, Many: true},
		Effect:      cmdline.Reads,
		OnNodes:     cmdline.Here,
		Data:        []any{validation{}, problemLine{}, validPod{}, validDocument{}, fieldLine{}},
		Description: "-o is " + output.ReportFormats + ".",
		Flags:       append(manifestFlags(), shell.NoHeadersFlag()),
		Action: func(c *cli.Context) error {
			o := validateOptions{Globals: shell.ReadGlobals(c)}
			var err error
			if o.manifestOptions, err = readManifestOptions(c); err != nil {
				return err
			}
			if o.format, err = shell.ReadReportOutput(c); err != nil {
				return err
			}
			return runValidate(c.Context, e, o)
		},
	}
}

func runValidate(ctx context.Context, e *shell.Env, o validateOptions) error {
	ctx, interrupted := e.UntilInterrupt(ctx)
	set, err := o.load(ctx, e)
	if interrupted() {
		return shell.ErrInterrupted
	}
	var problems manifest.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	if !o.format.IsTable() {
		if err := printValidation(e, o.format, set, problems); err != nil {
			return err
		}
	} else {
		printValidated(e, set, problems)
	}
	switch {
	case len(problems) > 0:
		return errors.New(problems.Summary())
	case len(set.Pods) == 0 && len(set.Documents) == 0:
		// Rather a wrong name, or a template that printed nothing, than a valid manifest.
		return fmt.Errorf("no objects in %s", strings.Join(o.names(), ", "))
	}
	return nil
}

func printValidated(e *shell.Env, set *manifest.Set, problems manifest.Problems) {
	for _, w := range set.Warnings {
		printWarning(e, w)
	}
	if len(problems) > 0 {
		fmt.Fprintln(e.Out, problems.Error())
		return
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
		text := fmt.Sprintf("%s %s %s", strings.ToLower(d.Kind), d.FullName(), validFields(d.Uses()))
		if d.Schedule != "" {
			text += ", runs by the schedule " + d.Schedule
		} else if len(pods) > 0 {
			text += ", runs as " + strings.Join(pods, ", ")
		}
		lines = append(lines, line{d.File, d.Line, text})
	}
	for _, p := range set.Pods {
		if !made[p] && p.Job == nil {
			lines = append(lines, line{p.File, p.Line, fmt.Sprintf("pod %s %s", pod.DisplayName(p.Namespace, p.Name), validFields(p.Uses()))})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	for _, l := range lines {
		fmt.Fprintf(e.Out, "%s:%d: %s\n", l.file, l.line, l.text)
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

// validation is what `podctl validate -o json` prints.
type validation struct {
	Problems  []problemLine   `json:"problems"`  // none in a valid input
	Warnings  []problemLine   `json:"warnings"`  // what is worth knowing of a valid input
	Pods      []validPod      `json:"pods"`      // with problems, those that could be made sense of
	Documents []validDocument `json:"documents"` // objects and workloads
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
	Fields    []fieldLine `json:"fields"`    // what the manifest sets, of a workload its template
}

// validDocument is an object that pods refer to, or a workload.
type validDocument struct {
	Kind      string      `json:"kind"`           // ConfigMap, Deployment …
	File      string      `json:"file"`           // where it is
	Line      int         `json:"line"`           // where it begins
	Namespace string      `json:"namespace"`      // default, if it names none; empty for an object without one
	Name      string      `json:"name"`           // as written
	Pods      []string    `json:"pods,omitempty"` // the names of the pods that a workload runs as
	Fields    []fieldLine `json:"fields"`         // what it sets; never a value
}

// fieldLine is a field that a document sets.
type fieldLine struct {
	Path    string `json:"path"`             // spec.containers[0].image
	File    string `json:"file"`             // where it is
	Line    int    `json:"line"`             // where it is
	Support string `json:"support"`          // honoured, ignored, refused
	Reason  string `json:"reason,omitempty"` // why it is ignored or refused
}

func printValidation(e *shell.Env, format output.Format, set *manifest.Set, problems manifest.Problems) error {
	v := validation{
		Problems: problemLines(problems), Warnings: problemLines(set.Warnings),
		Pods: []validPod{}, Documents: []validDocument{},
	}
	for _, p := range set.Pods {
		v.Pods = append(v.Pods, validPod{
			File: p.File, Line: p.Line, Namespace: p.Namespace, Name: p.Name, UID: string(p.UID),
			Fields: fieldLines(p.File, p.Uses()),
		})
	}
	for _, d := range set.Documents {
		valid := validDocument{
			Kind: d.Kind, File: d.File, Line: d.Line, Namespace: d.Namespace, Name: d.Name, Fields: fieldLines(d.File, d.Uses()),
		}
		for _, p := range d.Pods {
			valid.Pods = append(valid.Pods, p.Name)
		}
		v.Documents = append(v.Documents, valid)
	}
	return format.PrintObject(e.Out, nil, output.Item{Data: v})
}

func fieldLines(file string, uses []manifest.Use) []fieldLine {
	lines := []fieldLine{}
	for _, u := range uses {
		line := fieldLine{Path: u.Path, File: file, Line: u.Line, Support: u.Support.String()}
		if u.Support != manifest.Honoured {
			line.Reason = u.Field.Reason
		}
		lines = append(lines, line)
	}
	return lines
}

func problemLines(problems []manifest.Problem) []problemLine {
	lines := []problemLine{}
	for _, p := range problems {
		line := problemLine{File: p.File, Line: p.Line, Kind: p.Kind, Name: p.Name, Field: p.Field, Message: p.Message, Hint: p.Hint}
		if p.Kind == "Pod" {
			line.Pod = p.Name
		}
		lines = append(lines, line)
	}
	return lines
}
