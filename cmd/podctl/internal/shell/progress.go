package shell

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
)

// Progress is what the last lines of a terminal show until it is stopped; they are redrawn,
// and then erased. Without a terminal there is none.
type Progress struct {
	end   chan struct{}
	shown sync.WaitGroup
}

// progressPeriod is how often the lines are redrawn.
const progressPeriod = 200 * time.Millisecond

// StartProgress shows what text returns for the time so far: one or more lines, which are
// cut to the width of the terminal, as many as fit.
func StartProgress(e *Env, on bool, text func(took time.Duration) string) *Progress {
	p := &Progress{end: make(chan struct{})}
	if e.TTY && on {
		p.shown.Go(func() { p.show(e, text) })
	}
	return p
}

func (p *Progress) show(e *Env, text func(time.Duration) string) {
	w, begun := output.Raw(e.Out), e.Now()
	ticks := time.NewTicker(progressPeriod)
	defer ticks.Stop()
	rows := 0
	for {
		select {
		case <-ticks.C:
			width, height := e.Size()
			lines := strings.Split(text(e.Now().Sub(begun)), "\n")
			if height > 0 {
				lines = lines[:min(len(lines), height)]
			}
			for n := range lines {
				lines[n] = output.Cut(lines[n], width)
			}
			fmt.Fprint(w, eraseRows(rows)+strings.Join(lines, "\n"))
			rows = len(lines)
		case <-p.end:
			if rows > 0 {
				fmt.Fprint(w, eraseRows(rows))
			}
			return
		}
	}
}

// eraseRows erases lines, the last of which has the cursor.
func eraseRows(rows int) string {
	if rows <= 1 {
		return "\r\x1b[K"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows-1)
}

// Stop erases the lines.
func (p *Progress) Stop() {
	close(p.end)
	p.shown.Wait()
}
