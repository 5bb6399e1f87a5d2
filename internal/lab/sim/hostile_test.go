package sim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

// TestHostileScripts: no script ends the runtime, or takes memory or goroutines without end.
func TestHostileScripts(t *testing.T) {
	for name, c := range map[string]struct {
		script, log string
	}{
		"an empty duration":            {`sleep ""; echo $?`, "sleep: invalid number ''\n1\n"},
		"a shell in itself":            {`export x='sh -c "$x"'; sh -c "$x"; echo end`, "sh: shells are nested too deep\nend\n"},
		"shells on one input":          {`for i in $(seq 100); do echo sh; done | sh; echo end`, "sh: shells are nested too deep\nend\n"},
		"a trap that signals itself":   {`i=0; trap 'i=$((i+1)); [ $i = 5000 ] && exit; kill 1' TERM; kill 1; echo end`, ""},
		"a trap that is ignored later": {`trap 'echo no' TERM; (kill 1; trap "" TERM); echo end`, "end\n"},
		"a variable that doubles":      {`x=xxxxxxxxxxxxxxxx; for i in 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0; do x="$x$x"; done; [ "$x$x" = "$x" ] && echo end`, "end\n"},
		"words without end":            {`x="$(seq 20000)"; for i in ` + strings.Repeat("$x", 20000) + `; do true; done; echo end`, "end\n"},
		"a background without end":     {`i=0; while [ $i -lt 3000 ]; do i=$((i+1)); sleep infinity & [ $? = 2 ] && exit; done`, "sh: can't fork: Resource temporarily unavailable\n"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, func(t *testing.T, n *node) {
				pod := sandboxConfig("p")
				pod.LogDirectory = t.TempDir()
				id := n.create(n.runPod(pod), pod, containerConfig("sh", "-c", c.script))
				n.start(id)
				time.Sleep(time.Hour)
				synctest.Wait()
				if st := n.status(id); st.State != runtimeapi.ContainerState_CONTAINER_EXITED {
					t.Errorf("%s", st.State)
				}
				var log strings.Builder
				text, err := os.ReadFile(filepath.Join(pod.LogDirectory, "c/0.log"))
				for line := range strings.Lines(string(text)) {
					log.WriteString(strings.SplitN(line, " ", 4)[3])
				}
				if log.String() != c.log || err != nil {
					t.Errorf("%.200q, %v, want %q", log.String(), err, c.log)
				}
			})
		})
	}
}
