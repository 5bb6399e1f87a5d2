package preempt

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Result is the kubelet's plan for one pod that needs resources, with the
// reasons. The JSON form is stable.
type Result struct {
	Preemptor PodRef `json:"preemptor"`
	// Need is what must be freed, in the order of the failures.
	Need []Amount `json:"need"`
	// Signal is the label of kubelet_preemptions for each victim: the resource
	// that failed first, "" if none did.
	Signal v1.ResourceName `json:"signal,omitempty"`
	// Victims are the pods to evict, in the order in which they are killed, one
	// after the other.
	Victims []*v1.Pod `json:"-"`
	// Verdicts has every pod once, the most endangered first: the victims as in
	// Victims, then those who could be, then those who cannot.
	Verdicts []Verdict `json:"verdicts"`
	// Stages are the three classes in the order in which victims were looked for.
	// Empty if no victim was looked for: nothing is short, the preemptor is not
	// critical, or Missing is not empty.
	Stages []Stage `json:"stages,omitempty"`
	// Missing is what would be short even without all possible victims.
	Missing []Amount `json:"missing,omitempty"`
	// Unneeded are the victims without which the others would free enough, the dearest
	// first. The kubelet evicts them all the same.
	Unneeded []PodRef  `json:"unneeded,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
}

// Verdict is what the plan means for one pod.
type Verdict struct {
	Pod      PodRef         `json:"pod"`
	QOS      v1.PodQOSClass `json:"qos"`
	Priority int32          `json:"priority"`
	// Frees is what evicting it frees of cpu, memory, and what is short.
	Frees []Amount `json:"frees"`
	// Kill is its place among the victims, from 1; 0 if it is safe.
	Kill   int    `json:"kill,omitempty"`
	Reason Reason `json:"reason"`
	// Round is the number of the round in which it was chosen; if it is
	// NotNeeded, of the last round in which it was not. Else 0.
	Round int `json:"round,omitempty"`
	// Distance is how far it was, in that round, from freeing all that was short:
	// 0 would have done alone.
	Distance float64 `json:"distance"`
	// Terminating: its termination was requested already.
	Terminating bool `json:"terminating,omitempty"`
	// GraceSeconds is how long it may take to end.
	GraceSeconds int64 `json:"graceSeconds"`
}

// Stage is the search for victims in one class.
type Stage struct {
	Class v1.PodQOSClass `json:"class"`
	// Candidates is the number of possible victims of this class.
	Candidates int `json:"candidates"`
	// Short is what must come from this class: the need without what the victims
	// of the classes before it free, and without all that every candidate of the
	// classes after it would free. If it is empty, there are no rounds.
	Short  []Amount `json:"short,omitempty"`
	Rounds []Round  `json:"rounds,omitempty"`
}

// Round is one choice of a victim.
type Round struct {
	// Number counts from 1, through all stages.
	Number int `json:"number"`
	// Candidates is how many there were to choose from.
	Candidates int    `json:"candidates"`
	Chosen     PodRef `json:"chosen"`
	// Before is the distance if no pod is chosen: the number of resources that
	// are short. Distance is that of the chosen one.
	Before   float64 `json:"before"`
	Distance float64 `json:"distance"`
	// Left is what is still short in this stage afterwards.
	Left []Amount `json:"left,omitempty"`
	// Next is who would have been chosen otherwise, nil if no other pod was left.
	Next *Rival `json:"next,omitempty"`
	// Tied counts the others at the same distance.
	Tied int `json:"tied,omitempty"`
	// Equal are the others that nothing distinguishes from the chosen one: the order
	// of the kubelet's list decides, which changes from one admission to the next.
	Equal []PodRef `json:"equal,omitempty"`
}

// Rival is the runner-up of a round.
type Rival struct {
	Pod      PodRef  `json:"pod"`
	Distance float64 `json:"distance"`
	// By is what decided against it.
	By TieBreak `json:"by"`
}

// Err is the kubelet's error if no set of victims suffices, else nil.
func (r *Result) Err() error {
	if len(r.Missing) == 0 {
		return nil
	}
	return fmt.Errorf("preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: %s", kubeletList(r.Missing))
}

// Wait is how long the preemptor may have to wait if every victim uses its
// whole grace period: the victims are killed one after the other.
func (r *Result) Wait() time.Duration {
	var sum time.Duration
	for _, v := range r.Verdicts[:len(r.Victims)] {
		sum += time.Duration(v.GraceSeconds) * time.Second
	}
	return sum
}

// Survivors are the pods without the victims, in their order: what is on the
// node when the next pod asks, but for the preemptor itself.
func (r *Result) Survivors(pods []*v1.Pod) []*v1.Pod {
	gone := make(map[*v1.Pod]bool, len(r.Victims))
	for _, p := range r.Victims {
		gone[p] = true
	}
	return filter(pods, func(p *v1.Pod) bool { return !gone[p] })
}
