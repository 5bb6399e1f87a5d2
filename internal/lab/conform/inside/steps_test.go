//go:build linux

package inside

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestStepsRunInOrderUntilAnExit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	for _, c := range []struct {
		steps    []string
		code     int
		out, err string
	}{
		{[]string{"out:a", "err:b", "long:3"}, 0, "a\nxxx\n", ""},
		{[]string{"exists:" + file}, 1, "", "exists:" + file},
		{[]string{"once:" + file + "=5", "out:not reached"}, 5, "", ""},
		{[]string{"once:" + file + "=5", "out:reached", "exit:3", "out:not reached"}, 3, "reached\n", ""},
		{[]string{"write:" + file + "=text", "read:" + file}, 0, "text\n", ""},
		{[]string{"dance"}, 1, "", "unknown step"},
	} {
		var out, errw bytes.Buffer
		code, err := Run(c.steps, &out, &errw)
		if code != c.code || out.String() != c.out || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %d, %q, %v", c.steps, code, out.String(), err)
		}
	}
}
