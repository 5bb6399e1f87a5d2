package manifest

import (
	"strings"
	"testing"
)

// Megabytes of empty objects compress to little, and are gigabytes of containers.
func TestDecompressTooManyValues(t *testing.T) {
	packed, err := Compress([]byte(`{"spec":{"containers":[` + strings.Repeat("{},", maxDocument/3-20) + `{}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if document, err := Decompress(packed); err == nil || !strings.Contains(err.Error(), "values") {
		t.Errorf("got %d bytes, %v", len(document), err)
	}
}
