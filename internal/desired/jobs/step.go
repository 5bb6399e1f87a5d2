package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pod/event"
)

// Input is what a Step looks at.
type Input struct {
	Now time.Time
	// Want is the template of the manifest, nil if that is gone.
	Want *manifest.Pod
	// Seen are the pods of the node. Settled: no pod that runs is missing in it.
	Seen    map[types.UID]Seen
	Settled bool
}

// Result is what follows from a Step, beside the Record.
type Result struct {
	Events []event.Event
	// Wake is when the next Step is due if nothing else happens; zero for never.
	Wake time.Time
}

// Step returns what a Record becomes. It has no Jobs any more if nothing is left of what its manifest had.
func Step(r Record, in Input) (Record, Result) {
	s := &step{r: r.clone(), in: in}
	if s.r.Created.IsZero() {
		s.r.Created = in.Now
	}
	s.forgetGone()
	if in.Want == nil || in.Want.Job.Cron == nil {
		s.followManifest()
	} else {
		s.startScheduled(in.Want.Job)
	}
	for i := range s.r.Jobs {
		s.syncJob(&s.r.Jobs[i])
	}
	if in.Want != nil && in.Want.Job.Cron != nil {
		s.trimHistory(in.Want.Job.Cron)
	}
	return s.r, s.result
}

// step is one Step in progress.
type step struct {
	r      Record
	in     Input
	result Result
}

// wakeAt has the next Step no later than at a time.
func (s *step) wakeAt(t time.Time) {
	if s.result.Wake.IsZero() || t.Before(s.result.Wake) {
		s.result.Wake = t
	}
}

func (s *step) report(warning bool, kind, name string, uid types.UID, reason, message string) {
	s.result.Events = append(s.result.Events, event.Event{
		Time: s.in.Now, Kind: kind, Namespace: s.r.Namespace, Name: name, UID: uid, Reason: reason, Message: message, Warning: warning,
	})
}

func (s *step) reportJob(j *Job, warning bool, reason, format string, args ...any) {
	s.report(warning, "Job", j.Name, j.UID, reason, fmt.Sprintf(format, args...))
}

// seen returns the pod as the node sees it, not another one that has its UID.
func (s *step) seen(j *Job, p *Pod) (Seen, bool) {
	id := j.id(*p)
	seen, ok := s.in.Seen[id.UID()]
	if !ok || seen.Namespace != s.r.Namespace || seen.Name != id.Name(s.r.Namespace) {
		return Seen{}, false
	}
	return seen, true
}

// forgetGone drops the pods that were terminated and of which nothing is left, and then the Jobs.
func (s *step) forgetGone() {
	for i := range s.r.Jobs {
		j := &s.r.Jobs[i]
		j.Pods = slices.DeleteFunc(j.Pods, func(p Pod) bool {
			_, there := s.seen(j, &p)
			return p.Deleting && !there && s.in.Settled
		})
	}
	s.r.Jobs = slices.DeleteFunc(s.r.Jobs, func(j Job) bool { return j.Deleted && len(j.Pods) == 0 })
}

// followManifest has the Job of the manifest among the Jobs, and deletes all others. A version that cannot
// follow from the last one is another Job.
func (s *step) followManifest() {
	var want *manifest.Job
	if s.in.Want != nil {
		want = s.in.Want.Job
	}
	found := false
	for i := range s.r.Jobs {
		j := &s.r.Jobs[i]
		if want == nil || j.UID != want.UID {
			j.Deleted = true
			continue
		}
		if found = true; !j.Deleted { // else it begins again once its pods are gone
			j.follow(want.Spec)
		}
	}
	if want != nil && !found {
		s.r.Jobs = append(s.r.Jobs, newJob(want.Name, want.UID, s.in.Want))
	}
}

// follow gives a Job the spec of its manifest. Of an Indexed Job that is scaled down only the indexes that it
// has now count.
func (j *Job) follow(spec batchv1.JobSpec) {
	j.Spec = spec
	if !j.isIndexed() || j.Finished() != nil {
		return
	}
	n := int(*spec.Completions)
	j.Completed, j.FailedIndexes = j.Completed.below(n), j.FailedIndexes.below(n)
	j.Status.Succeeded = int32(j.Completed.len())
}

func newJob(name string, uid types.UID, template *manifest.Pod) Job {
	return Job{Name: name, UID: uid, Spec: template.Job.Spec, Document: json.RawMessage(template.Document)}
}

// delete terminates the active pods of a Job, and reports each.
func (s *step) delete(j *Job, pods []*Pod) {
	for _, p := range pods {
		p.Deleting = true
		s.reportJob(j, false, event.SuccessfulDelete, "Deleted pod: %s", j.id(*p).Name(s.r.Namespace))
	}
}

func (j *Job) active() []*Pod {
	var all []*Pod
	for i := range j.Pods {
		if j.Pods[i].isActive() {
			all = append(all, &j.Pods[i])
		}
	}
	return all
}

// terminating counts the pods that are terminated before they have ended.
func (j *Job) terminating() int {
	n := 0
	for _, p := range j.Pods {
		if p.Deleting && p.Phase == "" {
			n++
		}
	}
	return n
}

// syncJob does what is due of a Job (syncJob in pkg/controller/job/job_controller.go).
func (s *step) syncJob(j *Job) {
	if j.Deleted || j.Expired {
		for i := range j.Pods {
			j.Pods[i].Deleting = true
		}
		return
	}
	if c := j.Finished(); c != nil {
		s.expire(j, c.LastTransitionTime.Time)
		return
	}
	failJob := s.count(j)
	if j.Status.StartTime == nil && !j.IsSuspended() {
		j.Status.StartTime = &metav1.Time{Time: s.in.Now}
	}
	target := j.condition(batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet)
	if target == nil {
		target = s.decide(j, failJob)
	}
	if target == nil {
		target = s.manageJob(j)
	}
	if target != nil {
		s.finish(j, *target)
	}
	s.trimEnded(j)
}

// expire deletes a Job that has been finished for its time to live
// (pkg/controller/ttlafterfinished/ttlafterfinished_controller.go).
func (s *step) expire(j *Job, finished time.Time) {
	ttl := j.Spec.TTLSecondsAfterFinished
	if ttl == nil {
		return
	}
	at := finished.Add(time.Duration(*ttl) * time.Second)
	if at.After(s.in.Now) {
		s.wakeAt(at)
		return
	}
	j.Expired, j.Deleted = s.r.Kind == "Job", s.r.Kind != "Job"
	for i := range j.Pods {
		j.Pods[i].Deleting = true
	}
}

// finish ends a Job: first its pods, then the Job.
func (s *step) finish(j *Job, target batchv1.JobCondition) {
	active, failing := j.active(), target.Type == batchv1.JobFailureTarget
	if s.delete(j, active); failing { // all that has not succeeded counts as failed
		j.Status.Failed += int32(len(active))
	}
	if j.condition(target.Type) == nil {
		j.Status.Conditions = append(j.Status.Conditions, target)
	}
	if j.terminating() > 0 {
		return
	}
	end := target
	end.LastProbeTime, end.LastTransitionTime = metav1.NewTime(s.in.Now), metav1.NewTime(s.in.Now)
	if end.Type = batchv1.JobComplete; failing {
		end.Type = batchv1.JobFailed
		s.reportJob(j, true, end.Reason, "%s", end.Message)
	} else {
		j.Status.CompletionTime = &end.LastTransitionTime
		s.reportJob(j, false, event.Completed, "Job completed")
	}
	j.Status.Conditions = append(j.Status.Conditions, end)
	if s.r.Kind != "Job" {
		s.reportCron(false, event.SawCompletedJob, "Saw completed job: %s, condition: %s", j.Name, end.Type)
	}
	s.expire(j, s.in.Now)
}

// maxEnded is how many pods of a Job stay that have ended.
const maxEnded = 100

// trimEnded deletes the oldest pods that have ended. The newest failed one of an index that runs again stays: it has
// the count of its failures.
func (s *step) trimEnded(j *Job) {
	ended, kept := 0, map[int]bool{}
	for i := len(j.Pods) - 1; i >= 0; i-- {
		p := &j.Pods[i]
		if p.Phase == "" || p.Deleting {
			continue
		}
		ended++
		if j.Spec.BackoffLimitPerIndex != nil && p.Phase != v1.PodSucceeded && !kept[*p.Index] {
			kept[*p.Index] = true
			if !j.Completed.has(*p.Index) && !j.FailedIndexes.has(*p.Index) {
				continue
			}
		}
		p.Deleting = ended > maxEnded
	}
}
