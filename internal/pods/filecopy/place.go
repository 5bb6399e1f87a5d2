package filecopy

import (
	"fmt"
	"path"
	"strings"
)

// Place is one end of a copy as the user names it.
type Place struct {
	// Target is [NAMESPACE/]POD[/CONTAINER], "" for this host.
	Target string
	Path   string
}

// ParsePlace reads TARGET:PATH or a path of this host. A path with a colon needs a
// slash or a dot at its beginning.
func ParsePlace(text string) (Place, error) {
	target, name, ok := strings.Cut(text, ":")
	if !ok || strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") {
		if text == "" {
			return Place{}, fmt.Errorf("a path is empty")
		}
		return Place{Path: text}, nil
	}
	if target == "" || name == "" {
		return Place{}, fmt.Errorf("%q is not TARGET:PATH", text)
	}
	return Place{Target: target, Path: name}, nil
}

func (p Place) String() string {
	if p.Target == "" {
		return p.Path
	}
	return p.Target + ":" + p.Path
}

// into returns the place of what is copied from a place into a directory.
func into(dir, from Place) Place {
	if base := from.Base(); base != "" {
		dir.Path = path.Join(dir.Path, base)
	}
	return dir
}

// dirOf returns the directory of a path; unlike path.Dir it keeps "..", which a symlink
// before it gives another meaning.
func dirOf(name string) string {
	i := strings.LastIndex(name, "/")
	switch {
	case i < 0:
		return "."
	case i == 0:
		return "/"
	}
	return name[:i]
}

// Contents reports whether the content of the directory is meant: DIR/.
func (p Place) Contents() bool { return p.Path == "." || strings.HasSuffix(p.Path, "/.") }

// Base returns the name under which it is copied into a directory; "" if it has none.
func (p Place) Base() string {
	base := path.Base(path.Clean(p.Path))
	if p.Contents() || base == "/" || base == "." || base == ".." {
		return ""
	}
	return base
}
