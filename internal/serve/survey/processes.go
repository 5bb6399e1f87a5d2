package survey

import (
	"context"
	"sync"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pods/view"
)

// processes asks the runtime for the process of each container once: it is the
// same for as long as the container runs. It is safe for concurrent use between
// begin and end.
type processes struct {
	view.Runtime

	mu    sync.Mutex
	known map[string]cri.ContainerProcess
	// asked are the containers that the current scan has asked for.
	asked map[string]bool
}

var _ view.Runtime = (*processes)(nil)

func newProcesses(runtime view.Runtime) *processes {
	return &processes{Runtime: runtime, known: map[string]cri.ContainerProcess{}}
}

// begin begins a scan.
func (p *processes) begin() *processes {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = map[string]bool{}
	return p
}

// end forgets the containers that the scan did not ask for.
func (p *processes) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.known {
		if !p.asked[id] {
			delete(p.known, id)
		}
	}
}

// ContainerProcess implements view.Runtime. A scan that asks twice wants to
// know whether the runtime has noticed an exit, so it gets the runtime's answer.
func (p *processes) ContainerProcess(ctx context.Context, id string) (cri.ContainerProcess, error) {
	if known, ok := p.recall(id); ok {
		return known, nil
	}
	answer, err := p.Runtime.ContainerProcess(ctx, id)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, id)
	if err == nil && answer.PID != 0 {
		p.known[id] = answer
	}
	return answer, err
}

func (p *processes) recall(id string) (cri.ContainerProcess, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[id]
	again := p.asked[id]
	p.asked[id] = true
	return known, ok && !again
}
