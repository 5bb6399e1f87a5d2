package jobs

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
)

// Record is what is known of a Job or CronJob of a manifest.
type Record struct {
	// Kind, Namespace and Name are those of the manifest.
	Kind, Namespace, Name string
	// Instance is the podctl process that runs it.
	Instance string
	// Created is when it was first seen, LastSchedule for which time a CronJob last started a job; zero for never.
	Created, LastSchedule time.Time
	// Skipped is the last time for which a CronJob started none, and said so.
	Skipped time.Time
	// Jobs has the Job, with earlier versions that still have pods, or the jobs of the CronJob.
	Jobs []Job
}

// Job is one Job. Of Status only StartTime, CompletionTime, Conditions, Succeeded and Failed are set.
type Job struct {
	Name     string
	UID      types.UID
	Document json.RawMessage `json:",omitempty"`
	Spec     batchv1.JobSpec
	Status   batchv1.JobStatus
	// Completed and FailedIndexes are those of an Indexed Job.
	Completed, FailedIndexes Indexes
	Pods                     []Pod
	// Made counts the pods that it ever had.
	Made int
	// Failures are those since the last success, and LastFailure is when the last of them ended.
	Failures    int32
	LastFailure time.Time
	// Deleted: its pods are terminated, and then it is forgotten. Expired: the same, but it is not run
	// again by its manifest.
	Deleted, Expired bool
}

// Pod is one pod of a Job.
type Pod struct {
	Number int
	Index  *int `json:",omitempty"`
	// Failures are the counted failures of its index before it, Ignored the others. Excused: its own is one
	// of the others.
	Failures, Ignored int32 `json:",omitempty"`
	Excused           bool  `json:",omitempty"`
	// Phase is final, and its failure or success is counted; "" before.
	Phase    v1.PodPhase `json:",omitempty"`
	Finished time.Time   `json:",omitzero"`
	// Deleting: it is terminated, and not desired any more.
	Deleting bool `json:",omitempty"`
}

// id returns what the pod's name and UID are made of.
func (j *Job) id(p Pod) manifest.JobPod {
	id := manifest.JobPod{Job: j.Name, JobUID: j.UID, Number: p.Number, Index: p.Index}
	if j.Spec.BackoffLimitPerIndex != nil {
		id.Failures = &p.Failures
	}
	return id
}

// isActive reports whether the pod is to run, and has not ended.
func (p *Pod) isActive() bool { return p.Phase == "" && !p.Deleting }

func (j *Job) isIndexed() bool {
	return j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion
}

// IsSuspended reports whether the Job is to have no pods.
func (j *Job) IsSuspended() bool { return j.Spec.Suspend != nil && *j.Spec.Suspend }

// condition returns the condition of a type that is true, nil if it is not.
func (j *Job) condition(of ...batchv1.JobConditionType) *batchv1.JobCondition {
	for i, c := range j.Status.Conditions {
		if slices.Contains(of, c.Type) && c.Status == v1.ConditionTrue {
			return &j.Status.Conditions[i]
		}
	}
	return nil
}

// Finished returns the condition with which the Job ended, nil before.
func (j *Job) Finished() *batchv1.JobCondition {
	return j.condition(batchv1.JobComplete, batchv1.JobFailed)
}

// Desired returns the pods that are to be desired, by their UIDs.
func (j *Job) Desired() map[types.UID]manifest.JobPod {
	all := map[types.UID]manifest.JobPod{}
	for _, p := range j.Pods {
		if id := j.id(p); !p.Deleting {
			all[id.UID()] = id
		}
	}
	return all
}

// Current returns the Job of a record that is none of a CronJob, nil if it has none.
func (r *Record) Current() *Job {
	if i := slices.IndexFunc(r.Jobs, func(j Job) bool { return !j.Deleted }); r.Kind == "Job" && i >= 0 {
		return &r.Jobs[i]
	}
	return nil
}

func (r Record) clone() Record {
	r.Jobs = slices.Clone(r.Jobs)
	for i := range r.Jobs {
		j := &r.Jobs[i]
		j.Status = *j.Status.DeepCopy()
		j.Pods = slices.Clone(j.Pods)
	}
	return r
}

// Seen is one pod as the node sees it.
type Seen struct {
	// Namespace and Name are the pod's: a manifest may give any pod the UID of a Job's pod.
	Namespace, Name string
	Status          v1.PodStatus
	// Ended: its phase is final, and nothing of it runs. Removed: podctl rm removed it.
	Ended, Removed bool
}

// finalPhase returns the phase with which the pod ended, "" before. A pod that was removed before it
// succeeded has failed (isPodFailed in pkg/controller/job/job_controller.go).
func (s Seen) finalPhase() v1.PodPhase {
	switch {
	case s.Ended:
		return s.Status.Phase
	case s.Removed:
		return v1.PodFailed
	}
	return ""
}

// finished returns when its last container ended, now if that is not known
// (getFinishedTime in pkg/controller/job/backoff_utils.go).
func (s Seen) finished(now time.Time) time.Time {
	var last time.Time
	for _, c := range slices.Concat(s.Status.InitContainerStatuses, s.Status.ContainerStatuses) {
		if t := c.State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return cmp.Or(last, now)
}
