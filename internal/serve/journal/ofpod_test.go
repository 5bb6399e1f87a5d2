package journal

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEntriesOfPodOldestFirst(t *testing.T) {
	dir := t.TempDir()
	if found, err := ReadPod(dir, "u-1"); err != nil || len(found) != 0 {
		t.Errorf("no journal: %v, %v", found, err)
	}
	for name, text := range map[string]string{
		rotatedName: `{"time":"2026-01-02T15:04:05Z","uid":"u-1","reason":"Started"}` + "\n" + `{"time":"2026-01-02T15:04:05Z","uid":"u-2","reason":"Started"}` + "\n",
		currentName: `{"time":"2026-01-02T15:05:05Z","uid":"u-2","reason":"Killing","message":"like u-1"}` + "\n" +
			`{"time":"2026-01-02T15:05:06Z","uid":"u-1","reason":"Killing"}` + "\n" + `{"uid":"u-1","rea`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := ReadPod(dir, "u-1")
	if err != nil || len(found) != 2 || found[0].Reason != "Started" || found[1].Reason != "Killing" {
		t.Errorf("%+v, %v", found, err)
	}
}
