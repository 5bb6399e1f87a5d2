package look

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// rawMode is a terminal that passes every key, from begin to end. Before begin,
// while the runtime is connected to, Ctrl-C still interrupts podctl.
type rawMode struct {
	terminal *os.File

	mu    sync.Mutex
	state *term.State // what it was before; nil before begin
	ended bool
}

// begin sets the mode; io.EOF after end. Later calls do nothing.
func (r *rawMode) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
		return io.EOF
	case r.state != nil:
		return nil
	}
	state, err := term.MakeRaw(int(r.terminal.Fd()))
	if err != nil {
		return fmt.Errorf("set the terminal's mode: %w", err)
	}
	r.state = state
	return nil
}

// end restores the terminal.
func (r *rawMode) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.state != nil {
		_ = term.Restore(int(r.terminal.Fd()), r.state) // the terminal may be gone
	}
}
