package cmdline

import (
	"slices"
	"strings"
	"testing"
)

func TestAliasesStandForCommands(t *testing.T) {
	app := testApp()
	app.Commands[0].Aliases = []string{"ps", "po", "pod", "ls", "get pods", "get po"}
	app.Commands = append(app.Commands, &Command{Name: "rm", Aliases: []string{"delete"}},
		&Command{Name: "top", Args: Args{Of: Target, Words: []Choice{{Word: "pods", Aliases: []string{"top pod", "top po"}}}}})
	for in, want := range map[string]string{
		"ps":               "pods",
		"ls -A":            "pods -A",
		"-o json ps web":   "-o json pods web",
		"get pods web -A":  "pods -A web",
		"get po -ojson":    "pods -o json",
		"get nodes":        "get nodes",
		"delete pod web":   "rm pod web",
		"top pod web":      "top pods web",
		"top web":          "top web",
		"image ls":         "image ls", // there is no such command here
		"pods ps":          "pods ps",
		"pleg watch ls":    "pleg watch ls",
		"pods -- get pods": "pods -- get pods",
	} {
		got, err := Reorder(app, append([]string{"podctl"}, strings.Fields(in)...))
		if want := append([]string{"podctl"}, strings.Fields(want)...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestAliasesOfACommandAreSorted(t *testing.T) {
	c := Command{Aliases: []string{"ps", "po", "get pods"}}
	if got := strings.Join(c.sortedAliases(), ","); got != "get pods,po,ps" {
		t.Error(got)
	}
}
