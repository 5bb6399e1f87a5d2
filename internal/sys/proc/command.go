package proc

import (
	"slices"
	"strings"
)

// Flags returns the values of the flags of a command line: -NAME VALUE, --NAME VALUE and
// --NAME=VALUE, by name without dashes. The first value of a name counts.
func Flags(args []string) map[string]string {
	flags := map[string]string{}
	for i, arg := range args {
		name, isFlag := strings.CutPrefix(arg, "-")
		if !isFlag {
			continue
		}
		name, value, assigned := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		if !assigned && i+1 < len(args) {
			value = args[i+1]
		}
		if _, known := flags[name]; !known {
			flags[name] = value
		}
	}
	return flags
}

// IsOCIRuntime reports whether a program of that name creates and starts containers. runc's
// second process appends to its name: runc:[2:INIT].
func IsOCIRuntime(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	return slices.Contains([]string{"runc", "crun", "youki", "runsc", "kata-runtime"}, name)
}
