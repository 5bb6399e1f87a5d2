package sim

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parseCommand parses an argv: a shell with a script, or a plain command. The script is
// nil if the argv names none. The error says what the interpreter does not support.
func parseCommand(argv []string) (*syntax.File, error) {
	if len(argv) == 0 {
		return nil, nil
	}
	switch path.Base(argv[0]) {
	case "sh", "bash", "ash", "dash":
		for i, a := range argv[1:] {
			if strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c") && i+2 < len(argv) {
				return parse(argv[i+2])
			}
		}
		return nil, nil
	}
	c := &syntax.CallExpr{}
	for _, a := range argv {
		c.Args = append(c.Args, &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: a}}})
	}
	return &syntax.File{Stmts: []*syntax.Stmt{{Cmd: c}}}, nil
}

// isShell reports whether an argv is a shell that reads its commands.
func isShell(argv []string) bool {
	return len(argv) == 1 && slices.Contains([]string{"sh", "bash", "ash", "dash"}, path.Base(argv[0]))
}

// scriptLimit bounds scripts, in bytes, and so how deep they nest.
const scriptLimit = 64 << 10

// parse parses a script, and refuses what the interpreter would not run as a shell does.
func parse(script string) (*syntax.File, error) {
	if len(script) > scriptLimit {
		return nil, fmt.Errorf("the simulated runtime does not support scripts of more than %d bytes", scriptLimit)
	}
	f, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		if err == nil && n != nil && !supported(n) {
			err = fmt.Errorf("%s: the simulated runtime does not support %q", n.Pos(), script[n.Pos().Offset():n.End().Offset()])
		}
		return err == nil
	})
	return f, err
}

// supported reports whether the interpreter runs a node; it need not look at the nodes
// inside of it.
func supported(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.File, *syntax.Comment, *syntax.CallExpr, *syntax.Subshell, *syntax.Block, *syntax.CaseClause, *syntax.CaseItem,
		*syntax.IfClause, *syntax.WhileClause, *syntax.Word, *syntax.Lit, *syntax.ArithmExp, *syntax.ParenArithm:
		return true
	case *syntax.Stmt:
		return !n.Coprocess && !n.Disown
	case *syntax.DeclClause:
		return n.Variant.Value == "export"
	case *syntax.Assign:
		return !n.Append && n.Index == nil && n.Array == nil
	case *syntax.Redirect:
		return supportedRedirect(n)
	case *syntax.BinaryCmd:
		return n.Op == syntax.AndStmt || n.Op == syntax.OrStmt || n.Op == syntax.Pipe
	case *syntax.ForClause:
		return !n.Select
	case *syntax.WordIter:
		return n.InPos.IsValid()
	case *syntax.SglQuoted:
		return !n.Dollar
	case *syntax.DblQuoted:
		return !n.Dollar
	case *syntax.ParamExp:
		return supportedParam(n)
	case *syntax.CmdSubst:
		return !n.TempFile && !n.ReplyVar
	case *syntax.UnaryArithm:
		return n.Op == syntax.Minus
	case *syntax.BinaryArithm:
		return n.Op == syntax.Add || n.Op == syntax.Sub
	}
	return false
}

func supportedRedirect(r *syntax.Redirect) bool {
	if r.N != nil && r.N.Value != "1" && r.N.Value != "2" {
		return false
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.DplOut:
		return true
	case syntax.RdrIn:
		return r.N == nil
	default:
		return false
	}
}

// supportedParam reports whether a parameter is $a, ${a} or ${a:-default}.
func supportedParam(p *syntax.ParamExp) bool {
	if p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil && p.Exp.Op != syntax.DefaultUnsetOrNull || p.Param == nil {
		return false
	}
	return !strings.ContainsAny(p.Param.Value, "@*-")
}

// statusSyntax is a shell's exit code for a script that it cannot parse.
const statusSyntax = 2

func notParsed(err error) string { return fmt.Sprintf("sh: %v\n", err) }
