package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// tree is the source of one version of Kubernetes.
type tree struct {
	dir string
	// files are the texts of what files declare, by name, as far as they were read;
	// inside those of the declarations that have a field or variable of the name.
	files, inside map[string]map[string]string
}

// text returns the code that a reference names, without comments: all methods of the
// name that are declared in the file, or all of the file.
func (t *tree) text(r reference) (string, error) {
	declared, err := t.read(r.File)
	if err != nil {
		return "", err
	}
	text, ok := declared[r.Name]
	if !ok {
		text, ok = t.inside[r.File][r.Name]
	}
	if !ok {
		return "", fmt.Errorf("%s has no %s", r.File, r.Name)
	}
	return text, nil
}

// read returns what a file declares, and all of it under the name "".
func (t *tree) read(path string) (map[string]string, error) {
	if declared, ok := t.files[path]; ok {
		return declared, nil
	}
	source, err := os.ReadFile(filepath.Join(t.dir, path))
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("there is no %s in Kubernetes", path)
	}
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	declared, inside := map[string]string{}, map[string]string{}
	for _, d := range file.Decls {
		text, err := print(files, d)
		if err != nil {
			return nil, err
		}
		names := namesOf(d)
		if len(names) == 0 {
			continue // imports
		}
		declared[""] += text
		for _, name := range names {
			declared[name] += text
		}
		for _, name := range namesInside(d) {
			inside[name] = text
		}
	}
	t.files[path], t.inside[path] = declared, inside
	return declared, nil
}

func print(files *token.FileSet, node any) (string, error) {
	var b bytes.Buffer
	if err := format.Node(&b, files, node); err != nil {
		return "", err
	}
	// Lines that only a comment or an empty line kept apart.
	var lines []string
	for line := range strings.Lines(b.String()) {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "") + "\n", nil
}

// namesOf returns the names that a declaration declares.
func namesOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// namesInside returns the fields and local variables of a declaration: functions, too,
// are local variables.
func namesInside(d ast.Decl) (names []string) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				names = append(names, name.Name)
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					names = append(names, name.Name)
				}
			}
		}
		return true
	})
	return names
}
