package proc

import "strings"

// maxEnviron bounds an environment, and maxVariable what is kept of one variable, in bytes.
const (
	maxEnviron  = 1 << 20
	maxVariable = 4096
)

// Environ returns those variables of the environment with which a process was started
// that are named; the first one counts where a name is there twice. Nothing else of an
// environment is kept: it may have secrets. A value that is longer than a CNI plugin's
// arguments may be is left out.
func (f FS) Environ(pid int, names ...string) (map[string]string, error) {
	b, err := f.read(pid, "environ", maxEnviron)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for entry := range strings.SplitSeq(string(b), "\x00") {
		for _, name := range names {
			value, ok := strings.CutPrefix(entry, name+"=")
			if _, known := found[name]; ok && !known && len(value) <= maxVariable {
				found[name] = strings.Clone(value)
			}
		}
	}
	return found, nil
}
