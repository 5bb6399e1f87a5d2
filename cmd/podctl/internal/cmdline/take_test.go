package cmdline

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestFlagsAreTakenAtTheirOwnLevelOnly(t *testing.T) {
	node := func() cli.Flag { return &cli.StringFlag{Name: "node"} }
	shared := []cli.Flag{node(), &cli.BoolFlag{Name: "all-nodes"}, &cli.StringFlag{Name: "node-selector", Aliases: []string{"l"}}}
	own := []cli.Flag{&cli.StringFlag{Name: "node"}, &cli.StringFlag{Name: "selector", Aliases: []string{"l"}}, &cli.BoolFlag{Name: "tty", Aliases: []string{"t"}}}
	app := &App{App: &cli.App{Flags: shared}, Commands: []*Command{
		{Name: "orphans", Flags: own},
		{Name: "pleg", Flags: shared, Subcommands: []*Command{{Name: "check", Flags: shared}}},
		{Name: "exec", Flags: append(slices.Clone(shared), own[2]), Args: Args{Of: Target, Rest: Program}},
	}}
	take := func(f cli.Flag) bool { return slices.Contains(shared, f) }
	for line, want := range map[string]string{
		"--node n1 orphans":                      "orphans | 1 node=n1",
		"-l a=b orphans -l app=web --node cloud": "orphans -l app=web --node cloud | 1 node-selector=a=b",
		"--node=n1 pleg --node n2 check x":       "pleg check x | 2 node=n1,n2",
		"pleg check --all-nodes=false":           "pleg check | 2 all-nodes=false",
		"exec --all-nodes -t web -- ls --node x": "exec -t web -- ls --node x | 1 all-nodes=true",
		"--node n1":                              " | 0 node=n1",
	} {
		ordered, err := Reorder(app, append([]string{"podctl"}, strings.Fields(line)...))
		if err != nil {
			t.Fatal(err)
		}
		got := Take(app, ordered, take)
		text := strings.Join(got.Args, " ") + " | " + string(rune('0'+got.Command))
		for _, f := range shared {
			if values := got.Values[f.Names()[0]]; values != nil {
				text += " " + f.Names()[0] + "=" + strings.Join(values, ",")
			}
		}
		if text != want {
			t.Errorf("%s:\n got %s\nwant %s", line, text, want)
		}
	}
}
