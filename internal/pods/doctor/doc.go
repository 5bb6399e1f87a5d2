// Package doctor examines a runtime and its host, and changes nothing.
//
//	runtime's answers ─┐
//	/proc, statfs ─────┼─► Facts ─► Examine ─► []Finding: name, level, evidence, remedy
//	kubelet beside us ─┘  (Collect)   (pure)
//
// Each check is a pure function of the Facts. What could not be read is a finding of
// its own, never taken for healthy and never for broken. Collect makes the calls at
// the same time; each is bounded, and it blocks as long as the slowest.
//
// It opens the runtime's event stream only where every subscriber gets all events:
// containerd 1.7 would give an event to the doctor that another subscriber misses.
package doctor
