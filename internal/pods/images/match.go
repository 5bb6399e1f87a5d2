package images

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"github.com/podctl/podctl/internal/pod"
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

// isPattern reports whether a word may stand for several names by intent.
func isPattern(word string) bool { return strings.ContainsAny(word, `*?[`) }

// matchesAny reports whether a word stands for one of names: with or without its registry,
// tag or digest, or as a pattern.
func matchesAny(word string, names ...string) bool {
	match := matchName
	if isPattern(word) {
		match = matchPattern
	}
	return slices.ContainsFunc(names, func(name string) bool { return name == word || match(word, name) })
}

// HasName reports whether a name is one of the image, with or without its registry.
func (i *Image) HasName(name string) bool { return i.named(name) || i.named(fullName(name)) }

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

// matchers are the readings of a word, in order: a whole name or id; a name without its
// registry or tag, or a pattern; the beginning of an id. One that stands for an image
// keeps a later one from being tried.
var matchers = [...]struct {
	match func(i *Image, word string) bool
	// byID: the word says nothing about names.
	byID bool
}{
	{match: func(i *Image, word string) bool { return i.ID == word || strings.TrimPrefix(i.ID, "sha256:") == word }, byID: true},
	{match: func(i *Image, word string) bool { return i.named(word) }},
	{match: func(i *Image, word string) bool {
		return matchesAny(word, i.RepoTags...) || matchesAny(word, i.RepoDigests...)
	}},
	{match: (*Image).matchID, byID: true},
}

// resolve returns the images that a word stands for, and whether it is an id of them.
func resolve(all []*Image, word string) (found []*Image, byID bool) {
	for _, m := range matchers {
		for _, i := range all {
			if m.match(i, word) {
				found = append(found, i)
			}
		}
		if len(found) > 0 {
			return found, m.byID
		}
	}
	return nil, false
}

// Select returns the images that the words stand for, in the order of all; every one
// without words. The error names the words that stand for none.
func Select(all []*Image, words []string) ([]*Image, error) {
	if len(words) == 0 {
		return all, nil
	}
	var errs []error
	selected := map[*Image]bool{}
	for _, word := range words {
		found, _ := resolve(all, word)
		if len(found) == 0 {
			errs = append(errs, notFound(word))
		}
		for _, i := range found {
			selected[i] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(i *Image) bool { return !selected[i] }), errors.Join(errs...)
}

func notFound(word string) error {
	return hint.Errorf("podctl images lists them", "no image %q on this runtime", word)
}

// Choice is an image that is to be changed.
type Choice struct {
	*Image
	// Others are the names of the image that no word stands for; none if a word is its id.
	Others []string
}

// SelectForChange is like Select for a command that changes images: a word that is not a pattern
// must select one image. The error names the words that stand for none or for several; the images of
// the others are returned all the same.
func SelectForChange(all []*Image, words []string) ([]Choice, error) {
	var errs []error
	chosen, whole := map[*Image]bool{}, map[*Image]bool{}
	for _, word := range words {
		found, byID := resolve(all, word)
		switch {
		case len(found) == 0:
			errs = append(errs, notFound(word))
			continue
		case len(found) > 1 && !isPattern(word):
			errs = append(errs, ambiguous(word, found))
			continue
		}
		for _, i := range found {
			chosen[i], whole[i] = true, whole[i] || byID
		}
	}
	var choices []Choice
	for _, i := range all {
		if !chosen[i] {
			continue
		}
		c := Choice{Image: i}
		if !whole[i] {
			c.Others = slices.DeleteFunc(slices.Clone(i.RepoTags), func(name string) bool {
				return slices.ContainsFunc(words, func(word string) bool { return matchesAny(word, name) })
			})
		}
		choices = append(choices, c)
	}
	return choices, errors.Join(errs...)
}

// ambiguous is the error for a word that stands for several images.
func ambiguous(word string, found []*Image) error {
	var names []string
	for _, i := range found {
		names = append(names, fmt.Sprintf("%s (%s)", i.Name(), pod.ShortID(strings.TrimPrefix(i.ID, "sha256:"))))
	}
	return hint.Errorf("name one of them; a pattern such as 'NAME:*' stands for several", "%q is ambiguous: %s", word, strings.Join(names, ", "))
}
