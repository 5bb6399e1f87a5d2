package main

import (
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/preempt"
)

// preemption is what `podctl preempt -o json` prints.
type preemption struct {
	Sources  []podSource `json:"sources"`  // who was asked for the pods on the node
	Arrivals []arrival   `json:"arrivals"` // in their order
}

// printArrivals prints, for each pod that arrives, the arithmetic, a table of
// the pods on the node, and one sentence.
func printArrivals(e *env, o preemptOptions, full *fullNode, arrivals []arrival) error {
	for i, a := range arrivals {
		if i > 0 {
			fmt.Fprintln(e.out)
		}
		if err := printArrival(e, o, full, a); err != nil {
			return err
		}
	}
	return nil
}

func printArrival(e *env, o preemptOptions, full *fullNode, a arrival) error {
	if len(a.Usage) > 0 {
		fmt.Fprintln(e.out, arithmetic(full, a))
	}
	fmt.Fprintf(e.out, "asked: %s\n", full.asked())
	if a.Plan != nil {
		if err := printVerdicts(e, a.Plan); err != nil {
			return err
		}
		if o.explain {
			explain(e, a.Plan)
		}
	}
	fmt.Fprintf(e.out, "podctl: %s\n", sentence(a))
	for _, name := range a.Ignored {
		fmt.Fprintf(e.out, "warning: this node has no %s at all, and the kubelet does not mind: the request is not checked\n", name)
	}
	for _, what := range a.Unchecked {
		fmt.Fprintf(e.out, "warning: not checked: %s\n", what)
	}
	if a.Plan != nil {
		for _, w := range a.Plan.Warnings {
			fmt.Fprintf(e.out, "warning: %s\n", w.Text)
		}
	}
	return nil
}

// arithmetic is the node's account in one line: what it has, what is used and
// by how many pods, what the pod needs, and what is short.
func arithmetic(full *fullNode, a arrival) string {
	var has, used, needs, short []string
	for _, u := range a.Usage {
		always := u.Resource == v1.ResourcePods || u.Resource == v1.ResourceCPU || u.Resource == v1.ResourceMemory
		if u.Requested == 0 && !always {
			continue
		}
		amount := func(count int64) string {
			if u.Resource == v1.ResourcePods {
				return output.Plural(int(count), "pod")
			}
			return roundly(preempt.Amount{Resource: u.Resource, Count: count}.Quantity()) + " " + string(u.Resource)
		}
		has, used = append(has, amount(u.Allocatable)), append(used, amount(u.Used))
		if u.Requested > 0 && u.Resource != v1.ResourcePods {
			needs = append(needs, amount(u.Requested))
		}
		if s := u.Short(); s > 0 {
			short = append(short, amount(s))
		}
	}
	line := fmt.Sprintf("%s has %s · used %s · %s needs %s", full.allocatable, strings.Join(has, ", "), strings.Join(used, ", "),
		a.Pod, orNothing(needs))
	return line + " · short " + orNothing(short)
}

// roundly is a quantity with one decimal at most where it counts bytes: 7.6Gi.
// The JSON has all digits.
func roundly(q *resource.Quantity) string {
	bytes := float64(q.Value())
	for i, unit := range []string{"Ti", "Gi", "Mi", "Ki"} {
		if size := float64(int64(1) << (40 - 10*i)); q.Format == resource.BinarySI && bytes >= size {
			return strings.TrimSuffix(strconv.FormatFloat(bytes/size, 'f', 1, 64), ".0") + unit
		}
	}
	return q.String()
}

func orNothing(amounts []string) string {
	if len(amounts) == 0 {
		return "nothing"
	}
	return strings.Join(amounts, ", ")
}

func printVerdicts(e *env, r *preempt.Result) error {
	var rows [][]string
	for _, v := range r.Verdicts {
		var frees []string
		for _, f := range v.Frees {
			frees = append(frees, roundly(f.Quantity()))
		}
		verdict := "safe"
		if v.Kill > 0 {
			verdict = fmt.Sprintf("victim %d", v.Kill)
		}
		rows = append(rows, []string{v.Pod.String(), string(v.QOS), strconv.Itoa(int(v.Priority)), strings.Join(frees, " "), verdict, r.Why(v)})
	}
	if len(rows) == 0 {
		return nil
	}
	return output.PrintTable(e.out, []string{"POD", "QOS", "PRIORITY", "REQUESTS", "VERDICT", "WHY"}, rows)
}

// sentence is the answer.
func sentence(a arrival) string {
	if !a.Admitted {
		text := fmt.Sprintf("%s would be rejected: %s: %s", a.Pod, a.Reason, a.Message)
		if detail := a.Detail(); detail != "" {
			text += " (" + detail + ")"
		}
		return text
	}
	if len(a.Plan.Victims) == 0 {
		return fmt.Sprintf("%s fits", a.Pod)
	}
	text := fmt.Sprintf("for %s the kubelet would evict %s", a.Pod, output.Plural(len(a.Plan.Victims), "pod"))
	return text + opinion(a.Plan)
}

// opinion is how the smallest set differs from the kubelet's.
func opinion(r *preempt.Result) string {
	s := r.Smallest
	proof := "the best set found"
	switch {
	case s.Proved:
		proof = "provably the best"
	case s.Fewest:
		proof = "provably the fewest"
	}
	names := make([]string, len(s.Victims))
	for i, v := range s.Victims {
		names[i] = v.String()
	}
	switch {
	case s.Better == preempt.NoBetter:
		return ", " + proof
	case len(s.Victims) < len(r.Victims):
		return fmt.Sprintf("; %s alone would do (%s)", and(names), proof)
	default:
		return fmt.Sprintf("; %s would do, too (%s: %s)", and(names), proof, criteria[s.Better])
	}
}

// criteria are in what a set is better, for people.
var criteria = map[preempt.Criterion]string{
	preempt.FewerGuaranteed: "fewer guaranteed pods", preempt.FewerBurstable: "fewer burstable pods",
	preempt.FewerBestEffort: "fewer best-effort pods", preempt.LowerPriorities: "lower priorities",
	preempt.LessMemoryFreed: "less memory freed", preempt.LessCPUFreed: "less cpu freed", preempt.EarlierNames: "the first by name",
}

// and joins names as a sentence does.
func and(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
