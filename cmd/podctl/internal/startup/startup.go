// Package startup collects garbage rarely while a command starts: most of what a
// short command allocates stays, and collecting it takes a quarter of its time.
//
//	init of the packages ─► command ─► shell.Settle: as usual
//
// It takes effect when it is imported. Go initializes it, which imports the standard
// library alone, before the packages that allocate most: those of Kubernetes.
package startup

import (
	"os"
	"runtime/debug"
)

// percent is the GC percentage until shell.Settle. GOGC overrides it.
const percent = 800

func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
