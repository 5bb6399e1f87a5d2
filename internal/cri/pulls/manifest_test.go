package pulls

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocumentsOutOfBoundsAreNotRead(t *testing.T) {
	layer := fmt.Sprintf(`{"digest":%q,"size":7}`, digestA)
	layers := func(n int) string {
		return `{"layers":[` + strings.TrimSuffix(strings.Repeat(layer+",", n), ",") + `]}`
	}
	for name, test := range map[string]struct {
		data string
		want bool
	}{
		"a manifest":               {layers(2), true},
		"an index":                 {fmt.Sprintf(`{"manifests":[%s]}`, layer), true},
		"no JSON":                  {"layers", false},
		"nothing":                  {"", false},
		"as many layers as mount":  {layers(maxLayers), true},
		"more layers than mount":   {layers(maxLayers + 1), false},
		"a digest that is none":    {`{"layers":[{"digest":"../../etc/passwd","size":1}]}`, false},
		"a size that is no number": {fmt.Sprintf(`{"layers":[{"digest":%q,"size":"1"}]}`, digestA), false},
		"too many values":          {`{"other":[` + strings.TrimSuffix(strings.Repeat("[],", maxValues+1), ",") + `]}`, false},
	} {
		if got := parseDocument([]byte(test.data)) != nil; got != test.want {
			t.Errorf("%s: read: %t", name, got)
		}
	}
}

// A snapshot is named by the layer's sum alone, then by the chain of sums (the OCI's
// specification of images: Layer ChainID).
func TestChainIDs(t *testing.T) {
	data := fmt.Sprintf(`{"rootfs":{"diff_ids":[%q,%q]}}`, digestA, digestB)
	want := []string{digestA, "sha256:ccd722928bd92476ba1745586fed6e45a102504185ad88cd89e01ff116fd146c"}
	if diff := cmp.Diff(want, parseChainIDs([]byte(data))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if ids := parseChainIDs([]byte(`{"rootfs":{"diff_ids":"none"}}`)); ids == nil || len(ids) > 0 {
		t.Errorf("of no config: %v", ids)
	}
}
