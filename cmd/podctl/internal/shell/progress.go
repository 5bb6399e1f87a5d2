package shell

import (
	"fmt"
	"sync"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
)

// Progress is a line of a terminal that is redrawn until it is stopped, and is then
// erased. Without a terminal there is none.
type Progress struct {
	end   chan struct{}
	shown sync.WaitGroup
}

// progressPeriod is how often the line is redrawn.
const progressPeriod = 200 * time.Millisecond

// StartProgress shows what text returns for the time so far.
func StartProgress(e *Env, on bool, text func(took time.Duration) string) *Progress {
	p := &Progress{end: make(chan struct{})}
	if e.TTY && on {
		p.shown.Go(func() { p.show(e, text) })
	}
	return p
}

func (p *Progress) show(e *Env, text func(time.Duration) string) {
	const erase = "\r\x1b[K"
	w, begun := output.Raw(e.Out), e.Now()
	ticks := time.NewTicker(progressPeriod)
	defer ticks.Stop()
	shown := false
	for {
		select {
		case <-ticks.C:
			fmt.Fprint(w, erase+text(e.Now().Sub(begun)))
			shown = true
		case <-p.end:
			if shown {
				fmt.Fprint(w, erase)
			}
			return
		}
	}
}

// Stop erases the line.
func (p *Progress) Stop() {
	close(p.end)
	p.shown.Wait()
}
