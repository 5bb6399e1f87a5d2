package images

import (
	"slices"
	"testing"

	"github.com/podctl/podctl/internal/pod"
)

// hexNames are images of which one has a name that consists of the digits of ids.
func hexNames() []*Image {
	return Join([]*pod.Image{
		{ID: "sha256:fff200", RepoTags: []string{"docker.io/library/ada:latest", "docker.io/library/other:1"}},
		{ID: "sha256:ada100", RepoTags: []string{"r.io/db:1"}},
		{ID: "sha256:ada200", RepoTags: []string{"r.io/web:1"}},
		{ID: "sha256:ada2", RepoTags: []string{"r.io/web:2"}},
	}, nil, nil)
}

func TestNameGoesBeforeID(t *testing.T) {
	for word, want := range map[string][]string{
		"ada":         {"docker.io/library/ada:latest"},
		"ada2":        {"r.io/web:2"}, // a whole id goes before one that begins with it
		"ada1":        {"r.io/db:1"},
		"sha256:ada1": {"r.io/db:1"},
		"r.io/web":    {"r.io/web:1", "r.io/web:2"},
	} {
		if found, err := Select(hexNames(), []string{word}); err != nil || !slices.Equal(names(found), want) {
			t.Errorf("%q: %q, %v; want %q", word, names(found), err, want)
		}
	}
}

func TestSelectForChangeRefusesAmbiguousWords(t *testing.T) {
	for word, want := range map[string]string{
		"sha256:ada": `"sha256:ada" is ambiguous: r.io/db:1 (ada100), r.io/web:1 (ada200), r.io/web:2 (ada2)`,
		"r.io/web":   `"r.io/web" is ambiguous: r.io/web:1 (ada200), r.io/web:2 (ada2)`,
	} {
		chosen, err := SelectForChange(hexNames(), []string{word, "r.io/db:1"})
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", word, err, want)
		}
		if len(chosen) != 1 || chosen[0].Name() != "r.io/db:1" {
			t.Errorf("%q: chosen %v, want r.io/db:1 alone", word, chosen)
		}
	}
	if chosen, err := SelectForChange(hexNames(), []string{"r.io/web:*"}); err != nil || len(chosen) != 2 {
		t.Errorf("a pattern: %d images, %v", len(chosen), err)
	}
}

func TestSelectForChangeListsOtherNames(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  []string
	}{
		{[]string{"ada"}, []string{"docker.io/library/other:1"}},
		{[]string{"ada", "other:1"}, nil},
		{[]string{"*a*", "other"}, nil},
		{[]string{"fff2"}, nil},
		{[]string{"ada", "fff2"}, nil},
	} {
		chosen, err := SelectForChange(hexNames(), c.words)
		if err != nil || len(chosen) != 1 || !slices.Equal(chosen[0].Others, c.want) {
			t.Errorf("%q: %+v, %v; want others %q", c.words, chosen, err, c.want)
		}
	}
}
