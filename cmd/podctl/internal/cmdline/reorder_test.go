package cmdline

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func testApp() *App {
	output := &cli.StringFlag{Name: "output", Aliases: []string{"o"}}
	return &App{
		App: &cli.App{Flags: []cli.Flag{output, &cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}}}},
		Commands: []*Command{
			{Name: "pods", Flags: []cli.Flag{
				output, &cli.StringFlag{Name: "namespace", Aliases: []string{"n"}},
				&cli.BoolFlag{Name: "all", Aliases: []string{"A"}}, &cli.BoolFlag{Name: "watch", Aliases: []string{"w"}},
				&cli.StringSliceFlag{Name: "also"}, &cli.DurationFlag{Name: "for"},
			}},
			{Name: "exec", Args: Args{Of: Target, Rest: Program, Bare: func(word string) bool { return word == "c0ffee" }}, Flags: []cli.Flag{output, &cli.BoolFlag{Name: "stdin", Aliases: []string{"i"}}}},
			{Name: "pleg", Subcommands: []*Command{{Name: "watch", Flags: []cli.Flag{output, &cli.BoolFlag{Name: "x"}}}}},
		},
	}
}

func TestFlagsAreMovedBeforeArguments(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"pods":                            "pods",
		"pods web -o json":                "pods -o json web",
		"pods -o json web":                "pods -o json web",
		"pods web db --all":               "pods --all web db",
		"pods web -o=json db -n kube":     "pods -o=json -n kube web db",
		"pods web -ojson":                 "pods -o json web",
		"pods web -Aw":                    "pods -A -w web",
		"pods web -Awojson":               "pods -A -w -o json web",
		"pods web -wo json":               "pods -w -o json web",
		"pods web -n=kube":                "pods -n=kube web",
		"pods web --also a --also b":      "pods --also a --also b web",
		"pods web -namespace kube":        "pods -namespace kube web",
		"pods - -w":                       "pods -w -",
		"pods web -- -o json":             "pods -- web -o json",
		"pods -w -- web -n":               "pods -w -- web -n",
		"exec web -i -- ls -o x":          "exec -i -- web -- ls -o x",
		"exec -- ls -i":                   "exec -- -- ls -i",
		"exec web ls":                     "exec web ls",
		"exec c0ffee ls -o x":             "exec -- c0ffee -- ls -o x",
		"exec -i c0ffee ls -- -i":         "exec -i -- c0ffee -- ls -- -i",
		"exec c0ffee -i ls -l":            "exec -i -- c0ffee -- ls -l",
		"exec c0ffee -- ls -i":            "exec -- c0ffee -- ls -i",
		"exec c0ffee":                     "exec c0ffee",
		"exec web c0ffee -i ls":           "exec -i web c0ffee ls",
		"pods web --for -5s":              "pods --for -5s web",
		"pods web --unknown x":            "pods --unknown web x",
		"pods web -qx":                    "pods -qx web",
		"pods web -h":                     "pods -h web",
		"-o json pods web -v":             "-o json pods -v web",
		"-ojson pods web":                 "-o json pods web",
		"-v pleg watch a -ojson --x b":    "-v pleg watch -o json --x a b",
		"pleg":                            "pleg",
		"nocommand web -o json":           "nocommand web -o json",
		"--version":                       "--version",
		"pods web -o jsonpath={.a} --all": "pods -o jsonpath={.a} --all web",
	} {
		got, err := Reorder(testApp(), append([]string{"podctl"}, strings.Fields(in)...))
		if want := append([]string{"podctl"}, strings.Fields(want)...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestAFlagWithoutItsValueDoesNotTakeAnArgument(t *testing.T) {
	for _, in := range []string{"pods web -o", "pods web -Ao", "-o", "pods web --namespace"} {
		_, err := Reorder(testApp(), append([]string{"podctl"}, strings.Fields(in)...))
		if _, ok := errors.AsType[*MissingValueError](err); !ok {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// FuzzReorder: an order that is right stays, nothing is lost, and flags that
// are written together come out as more words, never fewer.
func FuzzReorder(f *testing.F) {
	for _, in := range []string{"pods web -o json", "pods -Awojson", "-- pods", "pleg watch - -x", "pods -o=", "pods -", "pods --", "-=", "pods -ä x"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		args := append([]string{"podctl"}, strings.Fields(in)...)
		once, err := Reorder(testApp(), args)
		if err != nil {
			return
		}
		if len(once) < len(args)-1 { // an alias of two words is one
			t.Fatalf("%q became %q", args, once)
		}
		twice, err := Reorder(testApp(), once)
		if err != nil || !slices.Equal(once, twice) {
			t.Fatalf("%q became %q, then %q, %v", args, once, twice, err)
		}
	})
}
