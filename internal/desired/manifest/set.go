package manifest

import (
	"cmp"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Set is what the input holds. Where Load returned problems it has the pods
// that could be made sense of, for display only.
type Set struct {
	// Pods are in the order of the input; of a directory, by file name.
	Pods []*Pod
	// Objects are the objects of the input that are no pods and no workloads; Load has
	// bound the claims. nil if nothing was read.
	Objects *pod.Objects
	// Documents are the documents of objects and workloads, in the order of
	// the input.
	Documents []*Document
	// Warnings are sorted as problems are.
	Warnings []Problem
}

// Forget drops the parsed trees of all documents, which take several times the memory
// of the pods. Afterwards LineOf knows only the lines that Admit needs, and Uses is nil.
func (s *Set) Forget() {
	for _, p := range s.Pods {
		p.dropTrees()
	}
	for _, d := range s.Documents {
		d.uses, d.positions = nil, nil
		for _, p := range d.Pods {
			p.dropTrees()
		}
	}
}

// Pod is one pod of the input: defaulted, validated, with its UID.
type Pod struct {
	*v1.Pod
	// File and Line are where its document begins.
	File string
	Line int
	// Document is what was read, with what Admit added: canonical JSON, the namespace
	// resolved, nothing defaulted. Decode makes the same pod of it; two documents are
	// equal if and only if they are the same manifest.
	Document []byte
	// Workload identifies the workload of which it is a pod, KIND/NAMESPACE/NAME; "" if
	// it is a pod by itself.
	Workload string
	// Job is the Job or CronJob of which it is the template, which runs as pods like it; nil for a pod
	// that runs itself.
	Job *Job

	value     map[string]any
	positions *positions
	// lines are those of the fields that Admit reports, once the positions are forgotten.
	lines map[string]int
	read  readFor
	// workloadKind and workloadName are those of the document of a workload's pod, for
	// messages.
	workloadKind, workloadName string
}

// LineOf returns the line of a field such as spec.containers[0].image, or of the
// closest field around it that was written; 0 for a pod that was not loaded.
func (p *Pod) LineOf(field string) int {
	if p.positions == nil {
		return p.lines[field]
	}
	return p.positions.find(parsePath(field)).line
}

// isSet reports whether the manifest sets a field that Admit reports.
func (p *Pod) isSet(field string) bool {
	if p.positions == nil {
		return p.lines[field] != 0
	}
	return p.positions.find(parsePath(field)).value != nil
}

// problem returns a problem of a field of the pod, in the document that has it.
func (p *Pod) problem(field, message, hint string) Problem {
	problem := Problem{File: p.File, Line: cmp.Or(p.LineOf(field), p.Line), Kind: podKind.name, Name: p.Name, Field: field, Message: message, Hint: hint}
	if p.workloadKind != "" {
		problem.Kind, problem.Name = p.workloadKind, p.workloadName
		if under(field, "spec") {
			problem.Field = templatePath(p.workloadKind) + "." + field
		}
	} else if p.positions != nil {
		problem.Field = p.positions.asWritten(field)
	}
	return problem
}

// admissionFields are the fields that Admit may report, besides references.
var admissionFields = strings.Fields(`spec spec.priorityClassName spec.priority spec.preemptionPolicy spec.runtimeClassName spec.overhead
	spec.serviceAccountName spec.serviceAccount spec.automountServiceAccountToken`)

// dropTrees frees the parsed trees, except the lines that Admit needs.
func (p *Pod) dropTrees() {
	if p.positions == nil {
		return
	}
	p.lines = map[string]int{}
	keep := func(field string) {
		if p.isSet(field) {
			p.lines[field] = p.LineOf(field)
		}
	}
	for _, field := range admissionFields {
		keep(field)
	}
	for _, r := range referencesOf(p.Pod) {
		keep(r.field)
		keep(r.keyField)
	}
	p.value, p.positions = nil, nil
}

// Uses lists the fields that the manifest sets, by line, with what podctl
// does with each.
func (p *Pod) Uses() []Use {
	return p.read.judge(usesOf(p.value, podKind.tree(), p.positions))
}
