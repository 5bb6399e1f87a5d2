package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

var update = flag.Bool("update", false, "rewrite docs/cli.md")

const referencePath = "../../docs/cli.md"

// TestReferenceIsCurrent compares docs/cli.md with the commands and the types
// that they print: `make docs` writes it.
func TestReferenceIsCurrent(t *testing.T) {
	want := reference(t)
	if *update {
		if err := os.WriteFile(referencePath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(referencePath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/cli.md is out of date: run make docs")
	}
}

func reference(t *testing.T) string {
	app := newApp(&shell.Env{Out: io.Discard, Errw: io.Discard})
	app.Commands = slices.DeleteFunc(app.Commands, func(c *cmdline.Command) bool { return c.Hidden })
	var b strings.Builder
	b.WriteString("<!-- Made by make docs from cmd/podctl: change it there. -->\n\n# The command line\n\n" +
		"    podctl [global options] COMMAND [options] [arguments]\n\n" +
		"Options stand before or after the arguments, the global ones also before the command; what follows -- is an argument.\n" +
		"Data goes to stdout; errors, warnings and logs to stderr, an error as `podctl: COMMAND: what: why`, often with a line `hint: what to do`.\n\n")
	b.WriteString("| command | |\n|---|---|\n")
	for _, c := range app.Commands {
		cmdline.Walk([]*cmdline.Command{c}, func(name string, c *cmdline.Command) {
			fmt.Fprintf(&b, "| [`podctl %s`](#podctl-%s) | %s |\n", name, strings.ReplaceAll(name, " ", "-"), c.Usage)
		})
	}
	b.WriteString("\n## Global options\n\n| option | environment | default | |\n|---|---|---|---|\n")
	for _, f := range app.Flags {
		if d := cmdline.Describe(f); d.Env != "" {
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", strings.TrimSpace(d.Synopsis()), d.Env, d.Default, cell(d.Usage))
		}
	}
	shared := sharedOptions(app.Commands)
	b.WriteString("\n## Shared options\n\nOf several commands, each of which names those that it has.\n\n| option | default | |\n|---|---|---|\n")
	for _, row := range slices.Sorted(maps.Values(shared)) {
		b.WriteString(row)
	}
	b.WriteString("\n## The runtime\n\nThe runtime is looked for as by crictl: the option, `PODCTL_RUNTIME_ENDPOINT`, `CONTAINER_RUNTIME_ENDPOINT`, `/etc/crictl.yaml`\n" +
		"(`CRI_CONFIG_FILE` names another), then the well-known sockets.\n\n## Exit codes\n\n| code | |\n|---|---|\n")
	for _, c := range shell.ExitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", c.Code, c.Meaning)
	}
	cmdline.Walk(app.Commands, func(name string, c *cmdline.Command) { commandReference(&b, "podctl "+name, c, shared) })
	b.WriteString("\n## What `-o json` prints\n\nThe types are podctl's own, and [a contract](control.md#json-is-a-contract). A list without anything in it is `[]`.\n")
	sources := typeSources{t: t, read: map[string]map[string]typeSource{}}
	var titles []string
	printed := map[string][]any{}
	cmdline.Walk(app.Commands, func(name string, c *cmdline.Command) {
		if len(c.Data) == 0 {
			return
		}
		for n, title := range titles { // commands that print the same
			if reflect.DeepEqual(printed[title], c.Data) {
				titles[n] = title + ", podctl " + name + " -o json"
				printed[titles[n]] = c.Data
				return
			}
		}
		titles = append(titles, "podctl "+name+" -o json")
		printed["podctl "+name+" -o json"] = c.Data
	})
	for _, title := range titles {
		fmt.Fprintf(&b, "\n### %s\n\n| field | type | |\n|---|---|---|\n", title)
		for _, value := range printed[title] {
			sources.document(&b, reflect.TypeOf(value))
		}
	}
	return b.String()
}

// sharedOptions are the rows of options that three commands or more have, by the option.
func sharedOptions(commands []*cmdline.Command) map[string]string {
	count := map[string]int{}
	shared := map[string]string{}
	cmdline.Walk(commands, func(_ string, c *cmdline.Command) {
		for _, f := range c.Flags {
			d := cmdline.Describe(f)
			row, option := optionRow(d), d.Synopsis()
			if count[row]++; count[row] >= 3 && count[row] > count[shared[option]] {
				shared[option] = row
			}
		}
	})
	return shared
}

func optionRow(d cmdline.FlagDoc) string {
	return fmt.Sprintf("| `%s` | %s | %s |\n", strings.TrimSpace(d.Synopsis()), d.Default, cell(d.Usage))
}

func commandReference(b *strings.Builder, name string, c *cmdline.Command, shared map[string]string) {
	fmt.Fprintf(b, "\n## %s\n\n    %s\n\n%s.\n", name, strings.TrimSpace(name+" [options] "+c.ArgsUsage()), strings.ToUpper(c.Usage[:1])+c.Usage[1:])
	if details := c.Details(); details != "" {
		fmt.Fprintf(b, "\n%s\n", strings.ReplaceAll(details, "\n   ", "\n    "))
	}
	rows, also := "", []string{}
	for _, f := range c.Flags {
		d := cmdline.Describe(f)
		if row := optionRow(d); row != shared[d.Synopsis()] {
			rows += row
			continue
		}
		also = append(also, "`--"+d.Name+"`")
	}
	if rows != "" {
		b.WriteString("\n| option | default | |\n|---|---|---|\n" + rows)
	}
	if len(also) > 0 {
		line := "[Shared](#shared-options):"
		b.WriteString("\n")
		for _, option := range also {
			if len(line)+len(option) > 115 {
				b.WriteString(line + "\n")
				line = ""
			}
			line = strings.TrimSpace(line + " " + option)
		}
		b.WriteString(line + "\n")
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// typeSource is a struct type and its comment.
type typeSource struct {
	doc    string
	fields *ast.StructType
}

// typeSources read the struct types that commands print from their source, which alone
// has the comments.
type typeSources struct {
	t *testing.T
	// read are the types of the packages that are read, by path and name.
	read map[string]map[string]typeSource
}

func (s typeSources) document(b *strings.Builder, printed reflect.Type) {
	s.t.Helper()
	path, ok := strings.CutPrefix(printed.PkgPath(), "github.com/podctl/podctl/")
	if !ok {
		s.t.Fatalf("%s is no type of podctl's own", printed)
	}
	if s.read[path] == nil {
		s.read[path] = parseTypes(s.t, filepath.Join("../..", path))
	}
	name := printed.Name()
	if pkg := filepath.Base(path); slices.Contains([]string{"control", "event", "describe", "pod", "starting"}, pkg) { // fields name these types with it
		name = pkg + "." + name
	}
	typeReference(s.t, b, name, s.read[path][printed.Name()])
}

func parseTypes(t *testing.T, dir string) map[string]typeSource {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]typeSource{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || len(decl.Specs) != 1 {
				continue
			}
			spec, ok := decl.Specs[0].(*ast.TypeSpec)
			if !ok {
				continue
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				found[spec.Name.Name] = typeSource{oneParagraph(decl.Doc.Text()), s}
			}
		}
	}
	return found
}

func typeReference(t *testing.T, b *strings.Builder, name string, s typeSource) {
	t.Helper()
	if s.fields == nil || s.doc == "" {
		t.Errorf("%s: no such type, or without a comment", name)
		return
	}
	fmt.Fprintf(b, "| **%s** | | %s |\n", name, cell(strings.TrimPrefix(s.doc, name[strings.LastIndexByte(name, '.')+1:]+" is ")))
	for _, f := range s.fields.Fields.List {
		if f.Tag == nil && !f.Names[0].IsExported() {
			continue // not printed
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			t.Fatal(err)
		}
		field, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if field == "-" {
			continue
		}
		meaning := oneParagraph(f.Doc.Text() + f.Comment.Text())
		if meaning == "" {
			t.Errorf("%s.%s has no comment", name, field)
		}
		optional := ""
		if strings.Contains(options, "omit") {
			optional = ", may be missing"
		}
		fmt.Fprintf(b, "| `%s` | %s%s | %s |\n", field, jsonType(types.ExprString(f.Type)), optional, cell(meaning))
	}
}

// jsonType is a Go type in the words of JSON.
func jsonType(goType string) string {
	goType = strings.TrimPrefix(strings.TrimPrefix(goType, "*"), "plegstat.")
	if item, list := strings.CutPrefix(goType, "[]"); list {
		return "list of " + jsonType(item)
	}
	switch goType {
	case "int", "int32", "int64", "uint32", "uint64", "float64":
		return "number"
	case "bool":
		return "boolean"
	case "time.Time":
		return "string, RFC 3339"
	case "v1.PodPhase", "v1.Protocol", "types.UID", "event.Adoption", "EvictionCause", "StopReason", "ProbeResult", "Layer", "why.Layer", "why.Step", "why.Confidence", "Kind", "ContainerKind", "CauseKind", "ProbeType":
		return "string"
	case "any", "map[string]int", "map[string]string", "map[string]any":
		return "object"
	}
	return goType
}

func oneParagraph(text string) string { return strings.Join(strings.Fields(text), " ") }
