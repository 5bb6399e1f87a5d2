package e2e

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
)

// line is a line of `podctl run -o json`.
type line struct {
	Type, Name, Container, Phase, Reason, Message, Text string
	Restarts                                            int
	Containers                                          []struct {
		Name, State, Reason string
		ExitCode, Restarts  int
	}
}

// lines reads what podctl printed with -o json.
func lines(t *testing.T, out string) []line {
	t.Helper()
	var all []line
	for in := bufio.NewScanner(strings.NewReader(out)); in.Scan(); {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatalf("not JSON: %v: %s", err, in.Text())
		}
		all = append(all, l)
	}
	return all
}

// result is the last line of a pod: how it terminated.
func result(t *testing.T, out, name string) line {
	t.Helper()
	for _, l := range lines(t, out) {
		if l.Type == "pod" && l.Name == name {
			return l
		}
	}
	t.Fatalf("no result of pod %s:\n%s", name, out)
	return line{}
}

// sofar reads the whole lines of an output that may go on.
func sofar(t *testing.T, out string) []line {
	t.Helper()
	return lines(t, out[:strings.LastIndex(out, "\n")+1])
}
