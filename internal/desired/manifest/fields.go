package manifest

import "strings"

// Support is what podctl does with a field that a manifest sets.
type Support uint8

const (
	// Honoured: the field has the effect that it has under a kubelet.
	Honoured Support = iota
	// Ignored: the field needs a control plane or another operating system. It
	// has no effect, and a warning says so once.
	Ignored
	// Refused: the manifest is in error. Nothing is dropped silently.
	Refused
)

func (s Support) String() string {
	return [...]string{Honoured: "honoured", Ignored: "ignored", Refused: "refused"}[s]
}

// Field is a row of the field table: a field of the Pod type, with all below
// it that has no row of its own.
type Field struct {
	// Path is the field in dots, with [] for any item of a list, [key] for
	// an entry of a map, and [prefix*] for those that begin alike:
	// spec.containers[].resources.limits[hugepages-*].
	Path    string
	Support Support
	// Reason says why a field is ignored or refused; with Values, it is
	// about the other values; else it says what the effect is.
	Reason string
	// Values are those to which Support applies, where it does not apply to
	// all; any other value is refused. They are written as in the manifest.
	Values []string
	// Hint says what to write instead, or is "".
	Hint string

	// reportedAtPods: what is ignored is said where a pod uses the object, not here.
	reportedAtPods bool
	// emptyAllowed: an empty mapping is the same as none.
	emptyAllowed bool
}

// fieldRows makes rows of a field table. Most commands read no manifest, so that tables are made when
// they are asked for.
type fieldRows func() []Field

// table is the whole field table, in the order of the Pod type's parts.
var table = concat(metadataFields, podFields,
	below("spec.containers[]", containerFields),
	below("spec.initContainers[]", containerFields),
	below("spec.ephemeralContainers[]", ephemeralFields),
	below("spec.volumes[]", volumeFields),
	statusFields)

func concat(parts ...fieldRows) fieldRows {
	return func() (all []Field) {
		for _, part := range parts {
			all = append(all, part()...)
		}
		return all
	}
}

// below puts rows under a prefix, so that they are written once.
func below(prefix string, rows fieldRows) fieldRows {
	return func() []Field {
		all := rows()
		for i, row := range all {
			dot := "."
			if strings.HasPrefix(row.Path, "[") {
				dot = ""
			}
			all[i].Path = prefix + dot + row.Path
		}
		return all
	}
}

// honoured, ignored and refused write several rows of one kind.
func honoured(paths string) fieldRows { return rows(paths, Field{Support: Honoured}) }

func ignored(reason, paths string) fieldRows {
	return rows(paths, Field{Support: Ignored, Reason: reason})
}

// ignoredReportedAtPods writes rows that are ignored, of which a warning stands at the fields of
// the pods that lose something by it, if any do.
func ignoredReportedAtPods(reason, paths string) fieldRows {
	return rows(paths, Field{Support: Ignored, Reason: reason, reportedAtPods: true})
}

func refused(reason, paths string) fieldRows {
	return rows(paths, Field{Support: Refused, Reason: reason})
}

// instead writes refused rows with what to write in their place.
func instead(reason, hint, paths string) fieldRows {
	return rows(paths, Field{Support: Refused, Reason: reason, Hint: hint})
}

func rows(paths string, like Field) fieldRows {
	return func() (all []Field) {
		for path := range strings.FieldsSeq(paths) {
			row := like
			row.Path = path
			all = append(all, row)
		}
		return all
	}
}

// branch is the table as a tree: a field, its row if it has one, and the
// fields below it that have rows.
type branch struct {
	row   *Field
	below map[string]*branch
}

func buildTree(rows []Field) *branch {
	root := &branch{}
	for i := range rows {
		b := root
		for _, s := range parsePath(rows[i].Path) {
			if b.below == nil {
				b.below = map[string]*branch{}
			}
			key := s.tableKey()
			if b.below[key] == nil {
				b.below[key] = &branch{}
			}
			b = b.below[key]
		}
		b.row = &rows[i]
	}
	return root
}

// tableKey returns a step as the tree knows it: all items of a list are one.
func (s step) tableKey() string {
	switch s.kind {
	case stepIndex, stepAny:
		return "[]"
	case stepKey:
		return "[" + s.name + "]"
	default:
		return s.name
	}
}

// child returns the branch of a step, nil if there is none. For the entries of a map an
// exact name comes before the longest prefix.
func (b *branch) child(s step) *branch {
	if found := b.below[s.tableKey()]; found != nil || s.kind != stepKey {
		return found
	}
	var best *branch
	longest := -1
	for key, candidate := range b.below {
		prefix, isPrefix := strings.CutSuffix(key, "*]")
		if isPrefix && strings.HasPrefix("["+s.name, prefix) && len(prefix) > longest {
			best, longest = candidate, len(prefix)
		}
	}
	return best
}
