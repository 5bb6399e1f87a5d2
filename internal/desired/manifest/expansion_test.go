package manifest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// bombs are documents of at most a megabyte that stand for far more, by the
// line on which they are found out.
func bombs() map[string]struct {
	text string
	line int
} {
	laughs := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
	}
	deep := "a0: &a0 " + strings.Repeat("[", 400) + strings.Repeat("]", 400) + "\n"
	for i := range 3 {
		deep += fmt.Sprintf("a%d: &a%d %s*a%d%s\n", i+1, i+1, strings.Repeat("[", 400), i, strings.Repeat("]", 400))
	}
	large := `a: &a "` + strings.Repeat("x", 900<<10) + "\"\n"
	return map[string]struct {
		text string
		line int
	}{
		"bytes":         {large + "b:\n- [" + strings.TrimSuffix(strings.Repeat("*a,", 20000), ",") + "]\n", 3},
		"strings":       {large + "b:\n" + strings.Repeat("- *a\n", 20), 14},
		"nodes":         {laughs, 6},
		"depth":         {deep, 3},
		"merges":        {"a: &a {l: \"" + strings.Repeat("x", 500<<10) + "\"}\nb:\n" + strings.Repeat("- {<<: *a}\n", 30), 23},
		"plain nesting": {"a: " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000), 1},
		"json nesting":  {`{"a":` + "\n" + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + "}", 2},
	}
}

func TestAliasBombsAreRefused(t *testing.T) {
	dir := t.TempDir()
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	for name, bomb := range bombs() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name+".yaml")
			if err := os.WriteFile(file, []byte("# first\n---\n"+bomb.text), 0o600); err != nil {
				t.Fatal(err)
			}
			one := filepath.Join(dir, "dir of "+name)
			if err := os.Mkdir(one, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(file, filepath.Join(one, "bomb.yaml")); err != nil {
				t.Fatal(err)
			}
			for source, at := range map[string]string{
				file: file, one: filepath.Join(one, "bomb.yaml"), server.URL + "/" + strings.ReplaceAll(name, " ", "%20") + ".yaml": "",
			} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := Load(t.Context(), []string{source}, LoadOptions{})
				runtime.ReadMemStats(&after)
				if at == "" {
					at = source
				}
				problems, _ := errors.AsType[Problems](err)
				if len(problems) != 1 || problems[0].File != at || problems[0].Line != bomb.line+2 {
					t.Fatalf("%s: %.300v, want one problem at line %d", source, problems, bomb.line+2)
				}
				if text := problems[0].Message; !strings.Contains(text, "stand for more than 10 MiB") && !strings.Contains(text, "levels deep") || len(text) > 200 {
					t.Errorf("%s: %.300s", source, text)
				}
				if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
					t.Errorf("%s: allocated %d MiB", source, used>>20)
				}
			}
		})
	}
}

// Anchors that people write are far from the bound, also in a large file.
func TestAliasesAreReplaced(t *testing.T) {
	text := "a: &a {k: v}\nbig: \"" + strings.Repeat("x", 5<<20) + "\"\nb: [*a, *a]\nc: {<<: *a, l: w}\n"
	docs, problems := parse(source{name: "f", data: []byte(text)})
	if len(problems) > 0 || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), problems)
	}
	delete(docs[0].value.(map[string]any), "big")
	if got, want := string(marshal(docs[0].value)), `{"a":{"k":"v"},"b":[{"k":"v"},{"k":"v"}],"c":{"k":"v","l":"w"}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
