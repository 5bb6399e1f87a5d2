package preempt

import "fmt"

// Reason is why a pod is a victim or safe. The zero value is Victim.
type Reason uint8

const (
	// Victim: the kubelet would evict it.
	Victim Reason = iota
	// NotNeeded: its class was looked at, and others freed enough.
	NotNeeded
	// ClassNotReached: nothing was left to free when its class's turn came.
	ClassNotReached
	// FreesNothing: it could be a victim, but requests nothing that is short.
	FreesNothing
	// NothingShort: the pod that asks lacks no resource.
	NothingShort
	// NotEnough: not even all possible victims would free enough, so none is
	// evicted.
	NotEnough
	// NotPreempting: the pod that asks is not critical.
	NotPreempting
	// UnknownClass: its status names no QoS class that the kubelet knows.
	UnknownClass
	// HigherPriority: it is critical, and of higher priority than the pod that asks.
	HigherPriority
	// Critical: it is critical, and of no lower priority.
	Critical
)

var reasonNames = [...]string{
	Victim: "Victim", NotNeeded: "NotNeeded", ClassNotReached: "ClassNotReached", FreesNothing: "FreesNothing",
	NothingShort: "NothingShort", NotEnough: "NotEnough", NotPreempting: "NotPreempting", UnknownClass: "UnknownClass",
	HigherPriority: "HigherPriority", Critical: "Critical",
}

func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// MarshalText writes the name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// TieBreak is what decided between the chosen pod and the runner-up where both
// are equally near. The zero value is Nearer.
type TieBreak uint8

const (
	// Nearer: nothing had to decide.
	Nearer TieBreak = iota
	// LessMemory: the chosen one requests less memory.
	LessMemory
	// LessCPU: as much memory, less cpu.
	LessCPU
	// Later: the same requests; it stands later in the kubelet's list.
	Later
)

var tieBreakNames = [...]string{Nearer: "Nearer", LessMemory: "LessMemory", LessCPU: "LessCPU", Later: "Later"}

func (t TieBreak) String() string {
	if int(t) < len(tieBreakNames) {
		return tieBreakNames[t]
	}
	return fmt.Sprintf("TieBreak(%d)", uint8(t))
}

// MarshalText writes the name.
func (t TieBreak) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
