package shell

import (
	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/labels"
)

// SelectorFlag is the flag of ReadSelector.
func SelectorFlag() cli.Flag {
	return &cli.StringFlag{Name: "selector", Aliases: []string{"l"}, Usage: "only pods with these `LABELS`: app=web,tier!=db"}
}

// ReadSelector reads --selector, nil if it was not given.
func ReadSelector(c *cli.Context) (labels.Selector, error) {
	text := c.String("selector")
	if text == "" {
		return nil, nil
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, Usagef("--selector %q: %v", text, err)
	}
	return selector, nil
}
