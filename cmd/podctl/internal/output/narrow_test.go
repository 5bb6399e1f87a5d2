package output

import (
	"slices"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// tables are the tables of all commands, with the longest valid names, and the columns that
// answer what the command is asked.
var tables = map[string]struct {
	header, row []string
	answer      []string
}{
	"pods": {
		[]string{"POD", "STATUS", "WORKER", "OWNER", "READY", "RESTARTS", "IP", "AGE"},
		[]string{longPod, "CrashLoopBackOff", "terminating", "run-5f2a91c3 (exited)", "10/12", "12345", "fd00:1234:5678:9abc:def0:1234:5678:9abc", "123d"},
		[]string{"POD", "STATUS", "OWNER", "READY"},
	},
	"orphans": {
		[]string{"POD", "CLASS", "AGE", "CONTAINERS", "OWNER", "WHY"},
		[]string{longPod, "name-reserved", "3d4h", "1 running, 1 unknown, 1 exited", "run-5f2a91c3, exited 3d ago", "no source desires it, and its sandbox is gone"},
		[]string{"POD", "CLASS", "WHY"},
	},
	"terminating": {
		[]string{"POD", "SINCE", "GRACE", "RUNNING", "LAYER", "LAST ERROR"},
		[]string{longPod, "123d", "42s over", long(63) + " (pid 8812, D nfs_wait)", "process", "StopContainer: deadline exceeded (2 times)"},
		[]string{"POD", "RUNNING", "LAYER", "LAST ERROR"},
	},
	"top": {
		[]string{"POD", "CONTAINER", "CPU", "THROTTLED", "MEMORY", "DISK", "PIDS"},
		[]string{longPod, long(63), "1234m", "100%", "1023Mi", "1023Mi", "12345"},
		[]string{"POD", "CONTAINER", "CPU", "MEMORY"},
	},
	"images": {
		[]string{"IMAGE", "ID", "SIZE", "USED BY"}, []string{long(255), long(13), "1023MiB", longPod + ", " + longPod}, []string{"IMAGE", "SIZE", "USED BY"},
	},
	"pull": {[]string{"IMAGE", "ID", "SIZE", "TOOK"}, []string{long(255), long(13), "1023MiB", "9.99s"}, []string{"IMAGE", "SIZE"}},
	"rmi":  {[]string{"REMOVED", "ID", "SIZE"}, []string{long(255), long(13), "1023MiB"}, []string{"REMOVED", "SIZE"}},
	"events": {
		[]string{"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"},
		[]string{"123d (x1234 over 123d)", "Warning", "FailedCreatePodSandBox", "pod/" + longPod, long(300)},
		[]string{"TYPE", "REASON", "OBJECT", "MESSAGE"},
	},
	"doctor":  {[]string{"LEVEL", "CHECK", "EVIDENCE"}, []string{"fail", "network configuration", long(300)}, []string{"LEVEL", "CHECK", "EVIDENCE"}},
	"preempt": {[]string{"POD", "QOS", "PRIORITY", "REQUESTS", "VERDICT", "WHY"}, []string{longPod, "Guaranteed", "2000001000", "240m 600Mi", "victim 1", long(80)}, []string{"POD", "VERDICT", "WHY"}},
	"run": {
		[]string{"POD", "PHASE", "READY", "RESTARTS", "AGE", "NOW"}, []string{longPod, "Succeeded", "10/12", "12345", "123d", long(200)}, []string{"POD", "PHASE", "READY", "NOW"},
	},
	"on nodes": {
		[]string{"NODE", "POD", "STATUS", "WORKER", "OWNER", "READY", "RESTARTS", "IP", "AGE"},
		[]string{long(63), longPod, "CrashLoopBackOff", "terminating", "agent", "1/1", "5", "10.88.0.123", "3d"},
		[]string{"NODE", "POD", "STATUS", "OWNER", "READY"},
	},
}

func long(n int) string { return strings.Repeat("abcdefghi-", n/10+1)[:n] }

var longPod = long(63) + "/" + long(253)

func TestAnswersStayInNarrowTables(t *testing.T) {
	for name, c := range tables {
		for _, width := range []int{40, 80, 120} {
			short := slices.Clone(c.row)
			for i := range short {
				short[i] = short[i][:min(len(short[i]), 4)]
			}
			table := NewTable(c.header, 0, len(c.header)-1)
			lines := table.Rows([][]string{c.row, short}, width)
			header := table.Header(width)
			for _, line := range append(lines, header) {
				if got := twwidth.Width(line); got > width {
					t.Errorf("%s at %d columns: %d: %q", name, width, got, line)
				}
			}
			columns, widths := table.fit(width)
			for n, i := range columns {
				least := min(table.widths[i], narrowWidth)
				if width == 40 {
					least = minWidth
				}
				if slices.Contains(c.answer, c.header[i]) && widths[n] < least {
					t.Errorf("%s at %d columns: %s has %d: %q", name, width, c.header[i], widths[n], lines[0])
				}
			}
			for _, answer := range c.answer {
				if !slices.Contains(columns, slices.Index(c.header, answer)) {
					t.Errorf("%s at %d columns: no %s: %q", name, width, answer, header)
				}
			}
		}
		if pipe := NewTable(c.header, 0, len(c.header)-1).Rows([][]string{c.row}, 0)[0]; strings.Contains(pipe, "…") {
			t.Errorf("%s is cut in a pipe: %q", name, pipe)
		}
	}
}

func TestNamespaceIsCutBeforeTheName(t *testing.T) {
	for _, c := range []struct {
		pod   string
		width int
		want  string
	}{
		{"default/web", 11, "default/web"}, {"default/noimage404", 14, "de…/noimage404"}, {"default/noimage404", 12, "…/noimage404"},
		{"default/noimage404", 10, "noimage404"}, {"default/noimage404", 7, "noi…404"}, {"noimage404", 7, "noi…404"}, {"/", 1, "/"},
	} {
		if got := cutPod(c.pod, c.width); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.pod, c.width, got, c.want)
		}
	}
}

func TestNamesAreCutInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"default/web", 11, "default/web"}, {"default/web-0123456789", 11, "defau…56789"}, {"default/web-0123456789", 8, "defa…789"},
		{"ääääääääää", 5, "ää…ää"}, {"世界世界世界", 6, "世…界"}, {"abcdef", 3, "a…f"}, {"abcdef", 1, "…"},
	} {
		if got := CutMiddle(c.name, c.width); got != c.want || twwidth.Width(got) > c.width {
			t.Errorf("%q at %d: %q, want %q", c.name, c.width, got, c.want)
		}
	}
}
