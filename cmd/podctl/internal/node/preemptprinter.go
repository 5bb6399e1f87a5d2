package node

import (
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/arrival"
	"github.com/podctl/podctl/internal/preempt"
)

// preemption is what `podctl preempt -o json` prints.
type preemption struct {
	Sources  []arrival.Source  `json:"sources"`  // of the pods on the node
	Arrivals []arrival.Arrival `json:"arrivals"` // in order
}

// printArrivals prints, for each pod that arrives, the arithmetic, a table of
// the pods on the node, and one sentence.
func printArrivals(e *shell.Env, n *arrival.Node, arrivals []arrival.Arrival) error {
	for i, a := range arrivals {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		if err := printArrival(e, n, a); err != nil {
			return err
		}
	}
	return nil
}

func printArrival(e *shell.Env, n *arrival.Node, a arrival.Arrival) error {
	if len(a.Usage) > 0 {
		fmt.Fprintln(e.Out, arithmetic(n, a))
	}
	fmt.Fprintf(e.Out, "asked: %s\n", askedSources(n))
	if a.Plan != nil {
		if err := printVerdicts(e, a.Plan); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.Out, "%s\n", sentence(a))
	for _, name := range a.Ignored {
		fmt.Fprintf(e.Out, "warning: this node has no %s: the kubelet does not check such a request\n", name)
	}
	for _, what := range a.Unchecked {
		fmt.Fprintf(e.Out, "warning: not checked: %s\n", what)
	}
	if a.Plan != nil {
		for _, w := range a.Plan.Warnings {
			fmt.Fprintf(e.Out, "warning: %s\n", w.Text)
		}
	}
	return nil
}

// arithmetic is one line: what the node has, what is used, what the pod needs,
// and what is short.
func arithmetic(n *arrival.Node, a arrival.Arrival) string {
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
	line := fmt.Sprintf("%s has %s · used %s · %s needs %s", n.Allocatable, strings.Join(has, ", "), strings.Join(used, ", "),
		a.Pod, orNothing(needs))
	if len(short) == 0 {
		return line + " · nothing is short"
	}
	return line + " · short of " + strings.Join(short, ", ")
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

func printVerdicts(e *shell.Env, r *preempt.Result) error {
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
	return output.PrintTable(e.Out, []string{"POD", "QOS", "PRIORITY", "REQUESTS", "VERDICT", "WHY"}, rows)
}

// sentence is the answer in one sentence.
func sentence(a arrival.Arrival) string {
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
	return fmt.Sprintf("for %s the kubelet would evict %s", a.Pod, output.Plural(len(a.Plan.Victims), "pod"))
}

// askedSources names the sources of the pods on the node.
func askedSources(n *arrival.Node) string {
	if len(n.Sources) == 0 {
		return "no podctl process is alive on this runtime"
	}
	var all []string
	for _, s := range n.Sources {
		all = append(all, fmt.Sprintf("%s (%s)", s.Name, output.Plural(s.Pods, "pod")))
	}
	return strings.Join(all, ", ")
}
