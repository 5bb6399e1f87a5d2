package relay

// Duplex is duplex.
type Duplex = duplex

// Go runs f, for which Close waits.
func (r *Relay) Go(f func()) { r.conns.Go(f) }

// Observe has another observer see the calls.
func (r *Relay) Observe(o Observer) { r.options.Observer = o }

// Queued returns the number of bytes that wait for decoders.
func (r *Relay) Queued() int64 { return r.budget.used.Load() }
