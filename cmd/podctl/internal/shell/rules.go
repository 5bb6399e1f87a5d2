package shell

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// RuleFlags returns --inject and --rules.
func RuleFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "inject", Usage: "`RULE` of what goes wrong with which calls; repeatable"},
		&cli.StringFlag{Name: "rules", Usage: "YAML `FILE` with a list of rules"},
	}
}

// ReadInject returns the rules of --inject.
func ReadInject(c *cli.Context) (all []rules.Rule, err error) {
	for _, text := range c.StringSlice("inject") {
		r, err := rules.Parse("--inject", text)
		if err != nil {
			return nil, &UsageError{Message: err.Error(), Advice: "--inject 'method=StopContainer error=DeadlineExceeded'; podctl proxy --help"}
		}
		all = append(all, r)
	}
	return all, nil
}

// ReadRules returns the rules of a file of --rules, and its bytes; none for "". data is nil if
// the file cannot be read.
func ReadRules(file string) (all []rules.Rule, data []byte, err error) {
	if file == "" {
		return nil, nil, nil
	}
	if data, err = bounded.Read(file, rules.MaxFile); err != nil {
		return nil, nil, err
	}
	all, err = rules.ParseFile(file, data)
	return all, data, err
}

// PrintRules prints what each rule of a proxy or a simulated runtime that ends has done.
func PrintRules(e *Env, all []rules.Counted) {
	for _, r := range all {
		fmt.Fprintf(e.Errw, "rule %d, %s %s: matched %d, fired %d\n", r.Number, output.OneLine(r.Source), r.Method, r.Matched, r.Fired)
	}
}
