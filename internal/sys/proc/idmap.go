package proc

import (
	"fmt"
	"strings"
)

// IDRange maps Length ids from Inside in a user namespace to those from Outside on the host.
type IDRange struct{ Inside, Outside, Length int }

// UIDMap returns the user ids of the user namespace of a process.
func (f FS) UIDMap(pid int) ([]IDRange, error) {
	b, err := f.read(pid, "uid_map", maxFile)
	if err != nil {
		return nil, err
	}
	return ParseIDMap(string(b))
}

// ParseIDMap reads the text of /proc/PID/uid_map or gid_map.
func ParseIDMap(text string) ([]IDRange, error) {
	var ranges []IDRange
	for line := range strings.Lines(text) {
		var n IDRange
		if _, err := fmt.Sscan(line, &n.Inside, &n.Outside, &n.Length); err != nil {
			return nil, fmt.Errorf("read id map: %w", err)
		}
		ranges = append(ranges, n)
	}
	return ranges, nil
}
