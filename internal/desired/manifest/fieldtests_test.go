package manifest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const repository = "../../../"

// fieldTest is a line of testdata/fieldtests.
type fieldTest struct {
	dir, test, kind string
	fields          []string
}

func readFieldTests(t *testing.T) []fieldTest {
	t.Helper()
	text, err := os.ReadFile("testdata/fieldtests")
	if err != nil {
		t.Fatal(err)
	}
	var all []fieldTest
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if len(words) < 4 {
			t.Fatalf("%q is not PACKAGE TEST KIND FIELD…", line)
		}
		all = append(all, fieldTest{words[0], words[1], words[2], words[3:]})
	}
	return all
}

// rows returns the rows that a field of a line may be about, as KIND FIELD.
func (f fieldTest) rows(field string) []string {
	var prefixes []string
	switch f.kind {
	case "Container":
		prefixes = []string{"Pod spec.containers[].", "Pod spec.initContainers[].", "Pod spec.ephemeralContainers[]."}
	case "Claim":
		prefixes = []string{"PersistentVolumeClaim ", "StatefulSet spec.volumeClaimTemplates[]."}
	case "JobSpec":
		prefixes = []string{"Job spec.", "CronJob spec.jobTemplate.spec."}
	case "Workload", "Object":
		for _, k := range kinds {
			if k != podKind && (k.read != nil) == (f.kind == "Workload") {
				prefixes = append(prefixes, k.name+" ")
			}
		}
	default:
		prefixes = []string{f.kind + " "}
	}
	var all []string
	for _, prefix := range prefixes {
		all = append(all, prefix+field)
	}
	return all
}

// honouredRows returns the rows that are honoured, as KIND FIELD.
func honouredRows() map[string]bool {
	all := map[string]bool{}
	add := func(kind string, rows []Field) {
		for _, row := range rows {
			if row.Support == Honoured {
				all[kind+" "+row.Path] = true
			}
		}
	}
	for _, k := range kinds {
		add(k.name, k.fields())
	}
	add("Template", templateFields()[:2]) // the others are a pod's
	return all
}

// Each field that is honoured names the test that shows its effect, and that test exists.
func TestEveryHonouredFieldNamesItsTest(t *testing.T) {
	left := honouredRows()
	known := maps.Clone(left)
	tests := testFinder{}
	for _, f := range readFieldTests(t) {
		if !tests.has(t, f.dir, f.test) {
			t.Errorf("%s %s: there is no such test", f.dir, f.test)
		}
		for _, field := range f.fields {
			some := false
			for _, row := range f.rows(field) {
				some = some || known[row]
				delete(left, row)
			}
			if !some {
				t.Errorf("%s %s: %s %s is no row that is honoured", f.dir, f.test, f.kind, field)
			}
		}
	}
	for _, row := range slices.Sorted(maps.Keys(left)) {
		t.Errorf("%s is honoured, and testdata/fieldtests names no test that shows it", row)
	}
}

// testFinder is the tests of packages, each with the texts that it contains.
type testFinder map[string]map[string][]string

// has reports whether a package has a test, and that a subtest: a text of it, or a file or
// directory below the package's testdata.
func (f testFinder) has(t *testing.T, dir, test string) bool {
	t.Helper()
	if f[dir] == nil {
		f[dir] = testsOf(t, filepath.Join(repository, dir))
	}
	name, sub, isSub := strings.Cut(test, "/")
	texts, ok := f[dir][name]
	return ok && (!isSub || slices.Contains(texts, sub) || hasData(filepath.Join(repository, dir, "testdata"), sub))
}

func testsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			test, ok := d.(*ast.FuncDecl)
			if !ok || test.Recv != nil || !strings.HasPrefix(test.Name.Name, "Test") {
				continue
			}
			texts := []string{}
			ast.Inspect(test, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					value, _ := strconv.Unquote(text.Value) // "" for none
					texts = append(texts, value)
				}
				return true
			})
			tests[test.Name.Name] = texts
		}
	}
	return tests
}

func hasData(dir, name string) bool {
	found := false
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && strings.TrimSuffix(d.Name(), ".txt") == name {
			found = true
			return fs.SkipAll
		}
		return nil
	}) // without the directory there is none
	return found
}
