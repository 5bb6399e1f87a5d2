package lab

import (
	"os"
	"path/filepath"
	"testing"
)

// Pods are removed by their mark: no other directory may have it, whatever its path.
func TestMarkIsThatOfADirectoryNotOfItsPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bench")
	seen := map[string]bool{}
	for range 2 {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		mark, err := markOf(dir)
		if again, err2 := markOf(dir); len(mark) != 2*markSize || again != mark || err != nil || err2 != nil || seen[mark] {
			t.Errorf("%q, then %q, %v, %v", mark, again, err, err2)
		}
		seen[mark] = true
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMarkThatIsNoneIsDrawnAgain(t *testing.T) {
	for _, text := range []string{"", "12", "zzzzzzzzzzzz", "123456789012345678"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "mark"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		mark, err := markOf(dir)
		if again, _ := markOf(dir); err != nil || len(mark) != 2*markSize || again != mark {
			t.Errorf("%q: %q, then %q, %v", text, mark, again, err)
		}
	}
}
