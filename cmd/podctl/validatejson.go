package main

import (
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/manifest"
)

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
	Namespace string      `json:"namespace"`      // default, if it names none
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

func printValidation(e *env, set *manifest.Set, problems manifest.Problems) error {
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
	return output.JSON(e.out, v)
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
