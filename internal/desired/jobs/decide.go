package jobs

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (s *step) condition(of batchv1.JobConditionType, reason, message string) *batchv1.JobCondition {
	now := metav1.NewTime(s.in.Now)
	return &batchv1.JobCondition{Type: of, Status: v1.ConditionTrue, LastProbeTime: now, LastTransitionTime: now, Reason: reason, Message: message}
}

// decide returns why a Job ends before its completions are reached, nil if it goes on. failJob is what its
// policy says, "" for nothing. A failure comes before a success.
func (s *step) decide(j *Job, failJob string) *batchv1.JobCondition {
	fail := func(reason, message string) *batchv1.JobCondition {
		return s.condition(batchv1.JobFailureTarget, reason, message)
	}
	failed, completions := j.FailedIndexes.len(), 0
	if j.Spec.Completions != nil {
		completions = int(*j.Spec.Completions)
	}
	switch {
	case failJob != "":
		return fail(batchv1.JobReasonPodFailurePolicy, failJob)
	case j.Status.Failed > *j.Spec.BackoffLimit || s.restartsExceeded(j):
		return fail(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	case s.deadlineExceeded(j):
		return fail(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	case !j.isIndexed():
		return nil
	case j.Spec.MaxFailedIndexes != nil && failed > int(*j.Spec.MaxFailedIndexes):
		return fail(batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes")
	case failed > 0 && failed+j.Completed.len() >= completions:
		return fail(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
	}
	if rule, met := matchSuccessPolicy(j.Spec.SuccessPolicy, j.Completed); met {
		return s.condition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy, fmt.Sprintf("Matched rules at index %d", rule))
	}
	return nil
}

// restartsExceeded reports whether the containers of running pods were restarted as often as the limit
// allows pods to fail.
func (s *step) restartsExceeded(j *Job) bool {
	if j.Spec.Template.Spec.RestartPolicy != v1.RestartPolicyOnFailure {
		return false
	}
	restarts := int32(0)
	for _, p := range j.active() {
		seen, _ := s.seen(j, p)
		for _, c := range slices.Concat(seen.Status.InitContainerStatuses, seen.Status.ContainerStatuses) {
			restarts += c.RestartCount
		}
	}
	return restarts >= max(1, *j.Spec.BackoffLimit)
}

func (s *step) deadlineExceeded(j *Job) bool {
	if j.Spec.ActiveDeadlineSeconds == nil || j.Status.StartTime == nil || j.IsSuspended() {
		return false
	}
	at := j.Status.StartTime.Add(time.Duration(*j.Spec.ActiveDeadlineSeconds) * time.Second)
	if at.After(s.in.Now) {
		s.wakeAt(at)
		return false
	}
	return true
}

// matchPodFailurePolicy returns the action of the first rule that a failed pod matches, "" for none, and the message
// of one that fails the Job (pkg/controller/job/pod_failure_policy.go).
func matchPodFailurePolicy(policy *batchv1.PodFailurePolicy, status v1.PodStatus, name string) (batchv1.PodFailurePolicyAction, string) {
	if policy == nil {
		return "", ""
	}
	for i, rule := range policy.Rules {
		for _, c := range slices.Concat(status.ContainerStatuses, status.InitContainerStatuses) {
			if rule.OnExitCodes != nil && matchesExit(rule.OnExitCodes, c) {
				return rule.Action, fmt.Sprintf("Container %s for pod %s failed with exit code %d matching %s rule at index %d",
					c.Name, name, c.State.Terminated.ExitCode, rule.Action, i)
			}
		}
		for _, c := range status.Conditions {
			if slices.ContainsFunc(rule.OnPodConditions, func(p batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
				return p.Type == c.Type && p.Status == c.Status
			}) {
				return rule.Action, fmt.Sprintf("Pod %s has condition %s matching %s rule at index %d", name, c.Type, rule.Action, i)
			}
		}
	}
	return "", ""
}

func matchesExit(rule *batchv1.PodFailurePolicyOnExitCodesRequirement, c v1.ContainerStatus) bool {
	t := c.State.Terminated
	if t == nil || t.ExitCode == 0 || rule.ContainerName != nil && *rule.ContainerName != c.Name {
		return false
	}
	return slices.Contains(rule.Values, t.ExitCode) == (rule.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn)
}

// matchSuccessPolicy returns the first rule that the completed indexes fulfil (pkg/controller/job/success_policy.go).
func matchSuccessPolicy(policy *batchv1.SuccessPolicy, completed Indexes) (rule int, met bool) {
	if policy == nil || completed.len() == 0 {
		return 0, false
	}
	for i, r := range policy.Rules {
		have, all := completed.len(), false
		if r.SucceededIndexes != nil {
			needed, err := parseIndexes(*r.SucceededIndexes)
			if err != nil {
				continue // it was validated
			}
			have = needed.and(completed).len()
			all = have == needed.len()
		}
		if all || r.SucceededCount != nil && have >= int(*r.SucceededCount) {
			return i, true
		}
	}
	return 0, false
}
