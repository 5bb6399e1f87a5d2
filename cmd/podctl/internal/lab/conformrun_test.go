package lab

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/conform"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/sys/hint"
)

func TestHandlerThatTheRuntimeDoesNotListIsRefused(t *testing.T) {
	listed := cri.RuntimeStatus{Handlers: []cri.Handler{{Name: ""}, {Name: "crun", UserNamespaces: true}}}
	for _, c := range []struct {
		status cri.RuntimeStatus
		name   string
		want   cri.Handler
		err    string
	}{
		{listed, "crun", listed.Handlers[1], ""},
		{listed, "", listed.Handlers[0], ""},
		{listed, "kata", cri.Handler{}, `--handler "kata": the runtime has (default), crun`},
		{cri.RuntimeStatus{}, "kata", cri.Handler{}, ""}, // older runtimes do not list them
	} {
		got, err := handlerOf(c.status, c.name)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != c.want || said != c.err {
			t.Errorf("%q: %+v, %q; want %+v, %q", c.name, got, said, c.want, c.err)
		}
	}
}

// TestConformPrintsRowsAsTheyEnd: the second behaviour sees the row of the first.
func TestConformPrintsRowsAsTheyEnd(t *testing.T) {
	var out, errw bytes.Buffer
	e := &shell.Env{Out: &out, Errw: &errw, Now: time.Now}
	var between string
	o := conformOptions{parallel: 1, selected: []conform.Behaviour{
		{Name: "first", Needs: func(cri.Handler) string { return "never" }},
		{Name: "second-and-longer", Needs: func(cri.Handler) string { between = out.String(); return "never" }},
	}}
	rows := newConformRows(e, o)
	(&conformRun{now: time.Now}).runAll(t.Context(), o, make([]node.Desired, 2), rows)
	if err := rows.close(); err != nil {
		t.Fatal(err)
	}
	first := "BEHAVIOUR          VERDICT      DETAIL\nfirst              unsupported  never\n"
	if all := first + "second-and-longer  unsupported  never\n"; between != first || out.String() != all || errw.Len() > 0 {
		t.Errorf("%q, then %q; %q", between, out.String(), errw.String())
	}
}

// TestLibrariesOfDynamicProgram: the loader, and each library where a loaded one is.
func TestLibrariesOfDynamicProgram(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no sh of Linux")
	}
	maps, err := exec.Command(sh, "-c", `while read -r line; do echo "$line"; done </proc/self/maps`).Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := librariesOf(sh, string(maps))
	if err == nil && got == nil {
		t.Skip(sh, "is linked statically")
	}
	if err != nil || len(got) < 2 || !filepath.IsAbs(got[0]) || !strings.Contains(string(maps), filepath.Dir(got[1])) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := librariesOf(sh, "\n"); hint.Of(err) != "CGO_ENABLED=0 go install github.com/podctl/podctl/cmd/podctl@latest" {
		t.Errorf("without maps: %q, %v", got, err)
	}
}
