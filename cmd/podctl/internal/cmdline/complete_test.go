package cmdline

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func completer() Completer {
	global := []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "output `FORMAT`"},
		&cli.StringFlag{Name: "runtime-endpoint", Aliases: []string{"r"}, Usage: "CRI `ENDPOINT`"},
		&cli.BoolFlag{Name: "verbose", Usage: "verbose"},
	}
	with := func(flags ...cli.Flag) []cli.Flag { return append(flags, global...) }
	namespace := &cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "`NAMESPACE` of names"}
	return Completer{
		App: &App{App: &cli.App{Flags: global}, Commands: []*Command{
			{Name: "pods", Usage: "list pods", Aliases: []string{"ps", "get pods"}, Args: Args{Of: Pod, Many: true, Optional: true}, Flags: with(namespace)},
			{Name: "logs", Args: Args{Of: Target, Many: true}, Flags: with(namespace, &cli.StringFlag{Name: "container", Aliases: []string{"c"}, Usage: "`NAME`"})},
			{Name: "exec", Args: Args{Of: Target, Rest: Program}, Flags: with()},
			{Name: "port-forward", Args: Args{Of: Pod, Rest: Ports}, Flags: with()},
			{Name: "cp", Args: Args{Of: SourceDestination}, Flags: with()},
			{Name: "top", Args: Args{Of: Target, Many: true, Optional: true, Words: []Choice{{Word: "pods"}, {Word: "containers"}}}, Flags: with()},
			{Name: "pull", Args: Args{Of: Image, Many: true}, Flags: with()},
			{Name: "run", Args: Args{Of: Manifest, Many: true}, Flags: with(&cli.StringFlag{Name: "for", Usage: "`CONDITION`"}, &cli.StringFlag{Name: "root", Usage: "`DIR`"})},
			{Name: "completion", Args: Args{Of: Word, Words: []Choice{{Word: "bash"}, {Word: "zsh"}}}, Flags: with()},
			{Name: "pleg", Subcommands: []*Command{{Name: "watch", Flags: with()}, {Name: "check", Flags: with()}}, Flags: with()},
			{Name: "__complete", Hidden: true},
		}},
		Topics: []string{"output", "targets"}, Properties: []string{"pid:", "port:", "ip:"},
		Values: map[string][]string{"FORMAT": {"json", "jsonpath=", "yaml"}, "CONDITION": {"condition=Ready", "delete"}},
	}
}

// The words are separated by spaces; a space at the end begins a new one.
func TestComplete(t *testing.T) {
	for words, want := range map[string]string{
		"":                              "pods logs exec port-forward cp top pull run completion pleg help",
		"p":                             "pods port-forward pull pleg",
		"help t":                        "top targets",
		"help pleg ":                    "watch check",
		"pleg ":                         "watch check",
		"pleg watch --v":                "--verbose",
		"pods ":                         "pods",
		"pods web ":                     "pods",
		"pods p":                        "pid: port: pods",
		"logs pid:1":                    "targets",
		"cp i":                          "ip: copy targets, files",
		"ps ":                           "pods",
		"get pods w":                    "pods",
		"-o json get pods w":            "pods",
		"-r sim: pods -n ":              "namespaces",
		"logs web -":                    "--namespace --container --output --runtime-endpoint --verbose --help",
		"logs web --con":                "--container",
		"logs ":                         "targets",
		"logs web -c ":                  "containers",
		"logs -c main ":                 "targets",
		"logs --container=m":            "--container= containers",
		"exec ":                         "targets",
		"exec web ":                     "",
		"exec web -- l":                 "",
		"port-forward ":                 "pods",
		"port-forward web ":             "",
		"cp web:/x ":                    "copy targets, files",
		"pull ":                         "images",
		"top ":                          "pods containers targets",
		"top pods w":                    "targets",
		"run ":                          "files",
		"run --root ":                   "dirs",
		"run --for ":                    "condition=Ready delete",
		"run --for=d":                   "--for= delete",
		"pods -o j":                     "json jsonpath=",
		"pods --output=y":               "--output= yaml",
		"pods --unknown=":               "",
		"pods --verbose ":               "pods",
		"-r ":                           "files",
		"completion ":                   "bash zsh",
		"completion bash ":              "",
		"nonsense ":                     "",
		"__c":                           "",
		"pods -- -":                     "",
		"--runtime-endpoint=/x logs a ": "targets",
	} {
		c := completer().Complete(strings.Split(words, " "))
		var got []string
		if c.Prefix != "" {
			got = append(got, c.Prefix)
		}
		for _, candidate := range c.Candidates {
			got = append(got, candidate.Word)
		}
		if live := [...]string{"", "pods", "targets", "copy targets,", "containers", "namespaces", "images"}[c.Live]; live != "" {
			got = append(got, live)
		}
		if c.Files {
			got = append(got, "files")
		}
		if c.Dirs {
			got = append(got, "dirs")
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q: %q, want %q", words, text, want)
		}
	}
}

// What the runtime is asked for depends on the words before.
func TestCompletionKnowsTheFlagsAndArgumentsBefore(t *testing.T) {
	c := completer().Complete([]string{"-r", "/x", "logs", "-n=kube", "web", "-o", "json", "-c", ""})
	for name, want := range map[string]string{"runtime-endpoint": "/x", "namespace": "kube", "output": "json"} {
		if c.Flags[name] != want {
			t.Errorf("%s is %q, want %q", name, c.Flags[name], want)
		}
	}
	if len(c.Arguments) != 1 || c.Arguments[0] != "web" {
		t.Error(c.Arguments)
	}
}
