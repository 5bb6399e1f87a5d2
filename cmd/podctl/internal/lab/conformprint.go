package lab

import (
	"encoding/xml"
	"fmt"
	"strings"

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
	} else {
		list := output.List{Header: []string{"BEHAVIOUR", "VERDICT", "DETAIL"}, Wide: []string{"SECONDS", "WHAT"}}
		for _, r := range results {
			list.Items = append(list.Items, output.Item{
				Name: r.Name, Cells: []string{r.Name, verdictText(r), output.OneLine(r.Detail)}, Wide: []string{fmt.Sprintf("%.1f", r.Seconds), r.About}, Data: r,
			})
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
