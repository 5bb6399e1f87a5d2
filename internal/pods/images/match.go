package images

import (
	"path"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"github.com/podctl/podctl/internal/sys/hint"
)

// minID is how many digits of an id stand for an image.
const minID = 3

// fullName returns the full name of an image as runtimes list it: with its registry
// and its tag. What is no name stays as it is.
func fullName(name string) string {
	ref, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return name
	}
	return reference.TagNameOnly(ref).String()
}

// Match reports whether a word stands for the image: its name with or without its
// registry, tag or digest, a pattern of a name, or the beginning of its id.
func (i *Image) Match(word string) bool {
	if i.matchID(word) || i.named(word) {
		return true
	}
	pattern := strings.ContainsAny(word, `*?[`)
	for _, names := range [...][]string{i.RepoTags, i.RepoDigests} {
		for _, name := range names {
			if pattern && matchPattern(word, name) || !pattern && matchName(word, name) {
				return true
			}
		}
	}
	return false
}

// matchesName reports whether a name is one of the image, with or without its registry.
func (i *Image) matchesName(name string) bool { return i.named(name) || i.named(fullName(name)) }

func (i *Image) matchID(word string) bool {
	word = strings.TrimPrefix(word, "sha256:")
	return len(word) >= minID && strings.HasPrefix(strings.TrimPrefix(i.ID, "sha256:"), word)
}

// matchName: a word without a tag stands for every tag of the repository.
func matchName(word, name string) bool {
	asked, err := reference.ParseNormalizedNamed(word)
	if err != nil {
		return false
	}
	known, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return false
	}
	if reference.IsNameOnly(asked) {
		return asked.Name() == known.Name()
	}
	return asked.String() == known.String()
}

// matchPattern matches the full name and the one that people write, with and without
// the tag. A star does not stand for a slash.
func matchPattern(pattern, name string) bool {
	candidates := []string{name}
	if ref, err := reference.ParseNormalizedNamed(name); err == nil {
		candidates = append(candidates, reference.FamiliarString(ref), ref.Name(), reference.FamiliarName(ref))
	}
	for _, c := range candidates {
		if ok, err := path.Match(pattern, c); ok && err == nil {
			return true
		}
	}
	return false
}

// Select returns the images that the words stand for, in the order of all; every one
// without words. The error names the words that stand for none.
func Select(all []*Image, words []string) ([]*Image, error) {
	if len(words) == 0 {
		return all, nil
	}
	found := make([]bool, len(words))
	var selected []*Image
	for _, i := range all {
		matched := false
		for n, word := range words {
			if i.Match(word) {
				found[n], matched = true, true
			}
		}
		if matched {
			selected = append(selected, i)
		}
	}
	for n, word := range words {
		if !found[n] {
			return selected, hint.Errorf("podctl images lists them", "no image %q on this runtime", word)
		}
	}
	return selected, nil
}

// Others returns the names of the image that none of the words stands for, if a word
// names it by one of several; none if it is named by its id.
func (i *Image) Others(words []string) []string {
	var others []string
	if slices.ContainsFunc(words, i.matchID) {
		return nil
	}
	for _, name := range i.RepoTags {
		one := &Image{}
		one.RepoTags = []string{name}
		if !slices.ContainsFunc(words, one.Match) {
			others = append(others, name)
		}
	}
	return others
}
