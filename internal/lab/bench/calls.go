package bench

import (
	"sync"
	"time"

	"github.com/podctl/podctl/internal/cri"
)

// Calls keeps how long successful calls of a client took, by method. It is safe for
// concurrent use; the zero value has none.
type Calls struct {
	mu   sync.Mutex
	took map[string][]time.Duration
}

var _ cri.Observer = (*Calls)(nil)

// RuntimeOperation implements cri.Observer.
func (c *Calls) RuntimeOperation(method string, took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.took == nil {
		c.took = map[string][]time.Duration{}
	}
	if err == nil {
		c.took[method] = append(c.took[method], took)
	}
}

// drain returns the durations by method, and resets them.
func (c *Calls) drain() map[string][]time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	took := c.took
	c.took = nil
	return took
}
