package lab

import (
	"encoding/xml"
	"fmt"
	"strings"
	"sync"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/conform"
)

// printConform prints the results, and returns an error if one deviates in a way that is not
// known.
func printConform(e *shell.Env, o conformOptions, runtime cri.Version, results []conform.Result) error {
	counts := map[conform.Verdict]int{}
	var unexpected []string
	for _, r := range results {
		counts[r.Verdict]++
		if r.Unexpected() {
			unexpected = append(unexpected, r.Name)
		}
	}
	if o.junit {
		if err := printJUnit(e, runtime, results); err != nil {
			return err
		}
	} else if !o.printsRows() {
		list := conformList()
		for _, r := range results {
			list.Items = append(list.Items, conformItem(r))
		}
		if err := o.format.Print(e.Out, list); err != nil {
			return err
		}
	}
	if !o.junit && o.format.IsTable() {
		fmt.Fprintf(e.Errw, "%s %s: %s: %d ok, %d deviate, %d unsupported\n", runtime.Name, strings.TrimPrefix(runtime.Version, "v"),
			output.Plural(len(results), "behaviour"), counts[conform.OK], counts[conform.Deviates], counts[conform.Unsupported])
	}
	if len(unexpected) > 0 {
		return fmt.Errorf("%s deviates: %s", runtime.Name, strings.Join(unexpected, ", "))
	}
	return nil
}

// printsRows reports whether a row is printed as soon as its behaviour has ended.
func (o conformOptions) printsRows() bool {
	return !o.junit && o.format.IsTable() && !o.format.IsSorted()
}

func conformList() output.List {
	return output.List{Header: []string{"BEHAVIOUR", "VERDICT", "DETAIL"}, Wide: []string{"SECONDS", "WHAT"}}
}

func conformItem(r conform.Result) output.Item {
	return output.Item{
		Name: r.Name, Cells: []string{r.Name, verdictText(r), output.OneLine(r.Detail)}, Wide: []string{fmt.Sprintf("%.1f", r.Seconds), r.About}, Data: r,
	}
}

// conformRows prints what runs, and the rows of a table as they come.
type conformRows struct {
	steps *shell.Steps
	list  output.List // the widest rows to expect

	mu   sync.Mutex
	rows *output.RowStream // nil if the list is printed at the end
	err  error
}

func newConformRows(e *shell.Env, o conformOptions) *conformRows {
	p := &conformRows{steps: shell.StartSteps(e, "conform"), list: conformList()}
	if o.printsRows() {
		p.steps.Printed, p.rows = true, o.format.NewRowStream(p.steps.Out())
		for _, b := range o.run.Behaviours {
			p.list.Items = append(p.list.Items, conformItem(conform.Result{Name: b.Name, Verdict: conform.Unsupported}))
		}
	}
	return p
}

// print is safe for concurrent use.
func (p *conformRows) print(r conform.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rows != nil && p.err == nil {
		p.err = p.rows.Print(p.list, []output.Item{conformItem(r)})
	}
}

func (p *conformRows) close() error {
	p.steps.Stop()
	if p.rows == nil || p.err != nil {
		return p.err
	}
	return p.rows.Close()
}

func verdictText(r conform.Result) string {
	if r.Known != nil {
		return string(r.Verdict) + " (known)"
	}
	return string(r.Verdict)
}

// junitSuite and the others are JUnit's format, as CI systems read it.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
}

type junitText struct {
	Message string `xml:"message,attr"`
}

// printJUnit prints unsupported behaviours, and deviations that are known, as skipped.
func printJUnit(e *shell.Env, runtime cri.Version, results []conform.Result) error {
	suite := junitSuite{Name: "podctl conform " + runtime.Name + " " + runtime.Version, Tests: len(results)}
	for _, r := range results {
		c := junitCase{Class: "conform", Name: r.Name, Time: fmt.Sprintf("%.3f", r.Seconds)}
		switch {
		case r.Unexpected():
			c.Failure = &junitText{r.Detail}
			suite.Failures++
		case r.Known != nil:
			c.Skipped = &junitText{r.Detail + " (" + r.Known.Link + ")"}
			suite.Skipped++
		case r.Verdict == conform.Unsupported:
			c.Skipped = &junitText{r.Detail}
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Out, "%s%s\n", xml.Header, text)
	return err
}
