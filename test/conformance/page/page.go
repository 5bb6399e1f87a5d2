package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/podctl/podctl/test/junit"
)

// spec is a spec with its results on both sides; a side on which it did not run has no
// outcome.
type spec struct {
	name            string
	podctl, kubelet junit.Result
}

// comparison is what was seen on one runtime.
type comparison struct {
	runtime string
	specs   []spec // by name
}

func compare(runtime string, podctl, kubelet junit.Results) comparison {
	names := map[string]bool{}
	for _, side := range []junit.Results{podctl, kubelet} {
		for name := range side {
			names[name] = true
		}
	}
	c := comparison{runtime: runtime}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c.specs = append(c.specs, spec{name, podctl[name], kubelet[name]})
	}
	return c
}

// unexplained reports whether the spec fails with podctl alone, and nobody knows why.
func (s spec) unexplained() bool {
	return s.podctl.Outcome == junit.Failed && s.kubelet.Outcome != junit.Failed && explain(s.name, s.podctl) == nil
}

const head = `# Kubernetes' own node tests

<!-- written by hack/conformance page -->

The end-to-end specs of Kubernetes in ` + "`k8s.io/kubernetes/test/e2e/common/node` and `…/storage`" + `, against ` + "`podctl agent`" + ` as the node of a cluster and
against the kubelet of the same version, on the same control plane, runtime and images. They are all specs that Kubernetes has on by default:
NodeConformance, Conformance, and those with neither label. [Testing](testing.md#kubernetes-own-tests) says how they are run, and what the bridge
between the API server and podctl answers for.

Not run: specs of features that are off by default; those of credential provider plugins, which the node does not have; and "should cap back-off at
MaxContainerBackOff", which takes 27 minutes.
`

// render returns the page.
func render(all []comparison) string {
	var b strings.Builder
	b.WriteString(head)
	for _, c := range all {
		fmt.Fprintf(&b, "\n## On %s\n\n", c.runtime)
		c.renderCounts(&b)
		c.renderFailures(&b)
		c.renderSkips(&b)
	}
	return b.String()
}

// kinds are the labels by which specs are counted; a spec counts for the first one that
// its name has.
var kinds = []string{"Conformance", "NodeConformance", ""}

func kindOf(name string) string {
	return kinds[slices.IndexFunc(kinds, func(k string) bool { return k == "" || strings.Contains(name, "["+k+"]") })]
}

func (c comparison) renderCounts(b *strings.Builder) {
	b.WriteString("| specs | podctl | kubelet |\n|---|---|---|\n")
	for _, sig := range []string{"node", "storage"} {
		for _, kind := range kinds {
			in := slices.DeleteFunc(slices.Clone(c.specs), func(s spec) bool {
				return !strings.HasPrefix(s.name, "[sig-"+sig+"]") || kindOf(s.name) != kind
			})
			if len(in) > 0 {
				fmt.Fprintf(b, "| %s, %s | %s | %s |\n", sig, cmp.Or(kind, "no label"), count(in, spec.onPodctl), count(in, spec.onKubelet))
			}
		}
	}
	fmt.Fprintf(b, "| **all** | %s | %s |\n", count(c.specs, spec.onPodctl), count(c.specs, spec.onKubelet))
}

func (s spec) onPodctl() junit.Result  { return s.podctl }
func (s spec) onKubelet() junit.Result { return s.kubelet }

// count prints how many specs had each outcome on a side.
func count(specs []spec, side func(spec) junit.Result) string {
	n := map[junit.Outcome]int{}
	for _, s := range specs {
		n[side(s).Outcome]++
	}
	var parts []string
	for _, o := range []junit.Outcome{junit.Passed, junit.Failed, junit.Skipped} {
		if n[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[o], o))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "not run")
}

// renderFailures lists the failures by their reason, the most frequent one first.
func (c comparison) renderFailures(b *strings.Builder) {
	byReason := map[string][]spec{}
	for _, s := range c.specs {
		if s.podctl.Outcome == junit.Failed || s.kubelet.Outcome == junit.Failed {
			byReason[s.why()] = append(byReason[s.why()], s)
		}
	}
	reasons := slices.SortedFunc(maps.Keys(byReason), func(x, y string) int {
		return cmp.Or(len(byReason[y])-len(byReason[x]), strings.Compare(x, y))
	})
	b.WriteString("\n| specs fail because | podctl | kubelet |\n|---|---|---|\n")
	for _, why := range reasons {
		fmt.Fprintf(b, "| %s | %s | %s |\n", why, count(byReason[why], spec.onPodctl), count(byReason[why], spec.onKubelet))
	}
	for _, why := range reasons {
		fmt.Fprintf(b, "\n%s:\n\n", why)
		for _, s := range byReason[why] {
			fmt.Fprintf(b, "* %s: podctl %s, kubelet %s\n", cell(shortName(s.name)), shown(s.podctl), shown(s.kubelet))
		}
	}
}

func shown(r junit.Result) string { return cmp.Or(string(r.Outcome), "not run") }

// why returns the cell that says why a spec failed.
func (s spec) why() string {
	on, where := s.podctl, ""
	switch {
	case s.podctl.Outcome != junit.Failed:
		on, where = s.kubelet, "with the kubelet alone: "
	case s.kubelet.Outcome == junit.Failed:
		where = "on both: "
	}
	k := explain(s.name, on)
	switch {
	case k != nil && k.row != "":
		return where + cell(k.reason) + " ([differences](kubelet-differences.md): " + cell(k.row) + " …)"
	case k != nil:
		return where + cell(k.reason)
	case where == "":
		where = "**not known**: "
	}
	return where + cell(firstLine(on.Why))
}

func (c comparison) renderSkips(b *strings.Builder) {
	type sides struct{ podctl, kubelet int }
	reasons := map[string]sides{}
	for _, s := range c.specs {
		if s.podctl.Outcome == junit.Skipped {
			n := reasons[firstLine(s.podctl.Why)]
			n.podctl++
			reasons[firstLine(s.podctl.Why)] = n
		}
		if s.kubelet.Outcome == junit.Skipped {
			n := reasons[firstLine(s.kubelet.Why)]
			n.kubelet++
			reasons[firstLine(s.kubelet.Why)] = n
		}
	}
	b.WriteString("\n| specs skip themselves because | podctl | kubelet |\n|---|---|---|\n")
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(b, "| %s | %d | %d |\n", cell(why), reasons[why].podctl, reasons[why].kubelet)
	}
}

var labels = regexp.MustCompile(`^\[sig-[a-z]+\]| \[[A-Za-z:, -]+\]`)

// shortName is the name of a spec without its labels.
func shortName(name string) string { return strings.TrimSpace(labels.ReplaceAllString(name, "")) }

const maxWhy = 200

// firstLine returns the first line of a text, shortened.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > maxWhy {
		line = string(r[:maxWhy]) + "…"
	}
	return line
}

// cell escapes a text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`).Replace(text)
}
