//go:build pages

package oracle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPagesDocumentedDifferencesHaveRows: a row that is no longer true is
// removed from both.
func TestPagesDocumentedDifferencesHaveRows(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "kubelet-differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, d := range actionsRows {
		rows = append(rows, d.row)
	}
	for _, d := range statusRows {
		rows = append(rows, d.row)
	}
	for _, row := range rows {
		if !strings.Contains(string(page), "\n| "+row) {
			t.Errorf("no row of docs/kubelet-differences.md begins with %q", row)
		}
	}
}
