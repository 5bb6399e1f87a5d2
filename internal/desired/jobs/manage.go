package jobs

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

const (
	// firstBackOff and maxBackOff bound the time from a failure to the next pod (pkg/controller/job/job_controller.go).
	firstBackOff, maxBackOff = 10 * time.Second, 10 * time.Minute
	// maxActive is how many pods of a Job run at a time.
	maxActive = 500
)

// backOff returns the time from the last of some failures to the next pod.
func backOff(failures int32) time.Duration {
	if failures == 0 {
		return 0
	}
	d := firstBackOff
	for i := int32(1); i < failures && d < maxBackOff; i++ {
		d *= 2
	}
	return min(d, maxBackOff)
}

// count counts the pods that have ended since the last Step, and returns why the Job fails because of one of
// them, "" if it does not.
func (s *step) count(j *Job) (failJob string) {
	var failures []time.Time
	var lastSuccess time.Time
	for i := range j.Pods {
		p := &j.Pods[i]
		if !p.isActive() {
			continue
		}
		seen, _ := s.seen(j, p)
		if p.Phase = seen.finalPhase(); p.Phase == "" {
			continue
		}
		p.Finished = seen.finished(s.in.Now)
		if j.isIndexed() && *p.Index >= int(*j.Spec.Completions) {
			continue
		}
		if p.Phase != v1.PodSucceeded {
			failJob = cmp.Or(failJob, j.countFailure(p, seen.Status, s.r.Namespace))
			failures = append(failures, p.Finished)
			continue
		}
		if p.Finished.After(lastSuccess) {
			lastSuccess = p.Finished
		}
		if j.Status.Succeeded++; j.isIndexed() {
			j.Completed = j.Completed.with(*p.Index)
			j.Status.Succeeded = int32(j.Completed.len())
		}
	}
	if !lastSuccess.IsZero() {
		j.Failures, j.LastFailure = 0, time.Time{}
	}
	for _, at := range failures {
		if lastSuccess.IsZero() || at.After(lastSuccess) {
			j.Failures++
			if at.After(j.LastFailure) {
				j.LastFailure = at
			}
		}
	}
	return failJob
}

// countFailure counts a pod that has failed, as the Job's policy has it.
func (j *Job) countFailure(p *Pod, status v1.PodStatus, namespace string) (failJob string) {
	action, why := matchPodFailurePolicy(j.Spec.PodFailurePolicy, status, pod.DisplayName(namespace, j.id(*p).Name(namespace)))
	counted := action != batchv1.PodFailurePolicyActionIgnore
	if counted {
		j.Status.Failed++
	}
	if limit := j.Spec.BackoffLimitPerIndex; limit != nil {
		if action == batchv1.PodFailurePolicyActionFailIndex || counted && p.Failures >= *limit {
			j.FailedIndexes = j.FailedIndexes.with(*p.Index)
		}
		p.Excused = !counted
	}
	if action == batchv1.PodFailurePolicyActionFailJob {
		return why
	}
	return ""
}

// manageJob makes and deletes pods, and returns that the Job is complete if it is.
func (s *step) manageJob(j *Job) *batchv1.JobCondition {
	if j.IsSuspended() {
		s.delete(j, j.active())
	} else {
		s.scale(j)
	}
	done := j.Status.Succeeded > 0
	if j.Spec.Completions != nil {
		done = j.Status.Succeeded >= *j.Spec.Completions
	}
	if done && len(j.active()) == 0 {
		return s.condition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")
	}
	s.setSuspended(j)
	return nil
}

// setSuspended keeps the condition that the Job is suspended.
func (s *step) setSuspended(j *Job) {
	before := j.condition(batchv1.JobSuspended) != nil
	if before == j.IsSuspended() {
		return
	}
	j.Status.Conditions = slices.DeleteFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
	if before {
		j.Status.StartTime = &metav1.Time{Time: s.in.Now}
		s.reportJob(j, false, event.Resumed, "Job resumed")
		return
	}
	j.Status.StartTime = nil
	j.Status.Conditions = append(j.Status.Conditions, *s.condition(batchv1.JobSuspended, "JobSuspended", "Job suspended"))
	s.reportJob(j, false, event.Suspended, "Job suspended")
}

// scale makes the pods that are missing, or deletes those that are too many
// (manageJob in pkg/controller/job/job_controller.go).
func (s *step) scale(j *Job) {
	active, want := j.active(), min(int(*j.Spec.Parallelism), maxActive)
	switch {
	case j.Spec.Completions != nil:
		want = max(0, min(want, int(*j.Spec.Completions-j.Status.Succeeded)))
	case j.Status.Succeeded > 0:
		want = len(active)
	}
	if surplus := s.surplus(j, active, want); len(surplus) > 0 {
		s.delete(j, surplus)
		return
	}
	missing := want - len(active)
	if p := j.Spec.PodReplacementPolicy; p != nil && *p == batchv1.Failed {
		missing -= j.terminating()
	}
	if missing <= 0 {
		return
	}
	if at := j.LastFailure.Add(backOff(j.Failures)); j.Spec.BackoffLimitPerIndex == nil && at.After(s.in.Now) {
		s.wakeAt(at)
		return
	}
	if j.isIndexed() {
		s.createIndexed(j, missing)
		return
	}
	for range missing {
		s.create(j, Pod{})
	}
}

// surplus returns the pods that are to go: those of indexes that the Job has no more, then those that
// have come least far.
func (s *step) surplus(j *Job, active []*Pod, want int) (all []*Pod) {
	if j.isIndexed() {
		for _, p := range active {
			if *p.Index >= int(*j.Spec.Completions) {
				all = append(all, p)
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(active), func(p *Pod) bool { return slices.Contains(all, p) })
	runs := func(p *Pod) int {
		if seen, _ := s.seen(j, p); seen.Status.Phase == v1.PodRunning {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(rest, func(a, b *Pod) int { return cmp.Or(cmp.Compare(runs(a), runs(b)), cmp.Compare(b.Number, a.Number)) })
	return append(all, rest[:max(0, len(rest)-want)]...)
}

// createIndexed makes pods for the first indexes that need one. With a back-off limit of their own each
// index has its own back-off.
func (s *step) createIndexed(j *Job, missing int) {
	taken, last := map[int]bool{}, map[int]Pod{}
	replaceFailed := j.Spec.PodReplacementPolicy != nil && *j.Spec.PodReplacementPolicy == batchv1.Failed
	for _, p := range j.Pods {
		switch {
		case p.isActive(), replaceFailed && p.Deleting && p.Phase == "":
			taken[*p.Index] = true
		case p.Phase != "":
			last[*p.Index] = p
		}
	}
	for index := 0; index < int(*j.Spec.Completions) && missing > 0; index++ {
		if taken[index] || j.Completed.has(index) || j.FailedIndexes.has(index) {
			continue
		}
		missing--
		p := Pod{Index: new(int)}
		*p.Index = index
		if before, ok := last[index]; ok && j.Spec.BackoffLimitPerIndex != nil {
			if p.Failures, p.Ignored = before.Failures+1, before.Ignored; before.Excused {
				p.Failures, p.Ignored = before.Failures, before.Ignored+1
			}
			if at := before.Finished.Add(backOff(p.Failures + p.Ignored)); at.After(s.in.Now) {
				s.wakeAt(at)
				continue
			}
		}
		s.create(j, p)
	}
}

// create makes a pod. A number is passed over if the node has a pod of its UID that the Job did not make.
func (s *step) create(j *Job, p Pod) {
	for taken := true; taken; j.Made++ {
		p.Number = j.Made
		_, taken = s.in.Seen[j.id(p).UID()]
	}
	j.Pods = append(j.Pods, p)
	s.reportJob(j, false, event.SuccessfulCreate, "Created pod: %s", j.id(p).Name(s.r.Namespace))
}
