package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // as kube-controller-manager has it: a host may have none

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pod/event"
)

// manyMissed is how many times a CronJob may miss without a warning
// (pkg/controller/cronjob/utils.go).
const manyMissed = 100

func (s *step) reportCron(warning bool, reason, format string, args ...any) {
	s.report(warning, s.r.Kind, s.r.Name, s.in.Want.Job.UID, reason, fmt.Sprintf(format, args...))
}

// around returns the last time of a schedule after since and until now, zero if there is none, and the
// next one.
func around(schedule cron.Schedule, since, now time.Time) (last, next time.Time) {
	if every, ok := schedule.(cron.ConstantDelaySchedule); ok { // @every counts from the last one
		n := now.Sub(since) / every.Delay
		if n > 0 {
			last = since.Add(n * every.Delay)
		}
		return last, since.Add((n + 1) * every.Delay)
	}
	since = since.In(now.Location())
	next = schedule.Next(now)
	if first := schedule.Next(since); first.IsZero() || first.After(now) {
		return time.Time{}, next
	}
	for low, high := since, now; ; {
		if high.Sub(low) <= time.Second {
			return schedule.Next(low), next
		}
		if middle := low.Add(high.Sub(low) / 2); schedule.Next(middle).After(now) {
			high = middle
		} else {
			low = middle
		}
	}
}

// maxUnended is how many jobs of a CronJob may have pods to come or left: at so many none is started.
const maxUnended = 100

// startScheduled starts the job that is due (syncCronJob in pkg/controller/cronjob/cronjob_controllerv2.go).
// Without one that is due nothing of the past is made up for but the last time that was missed.
func (s *step) startScheduled(want *manifest.Job) {
	c := want.Cron
	if c.Suspend != nil && *c.Suspend {
		return
	}
	text := c.Schedule
	if c.TimeZone != nil {
		text = "TZ=" + *c.TimeZone + " " + text
	}
	schedule, err := cron.ParseStandard(text)
	if err != nil { // it was validated: another podctl knew the zone
		s.skip(s.r.Created, true, event.UnparseableSchedule, "unparseable schedule: %q : %v", c.Schedule, err)
		return
	}
	since := s.r.Created
	if s.r.LastSchedule.After(since) {
		since = s.r.LastSchedule
	}
	last, next := around(schedule, since, s.in.Now)
	if next.IsZero() {
		s.skip(s.r.Created, true, event.InvalidSchedule, "invalid schedule: %s : it has no next time", c.Schedule)
		return
	}
	s.wakeAt(next)
	if !last.IsZero() {
		s.startAt(want, schedule, since, last)
	}
}

// startAt starts the job of a time that has come.
func (s *step) startAt(want *manifest.Job, schedule cron.Schedule, since, at time.Time) {
	if d := want.Cron.StartingDeadlineSeconds; d != nil {
		earliest := s.in.Now.Add(-time.Duration(*d) * time.Second)
		if at.Before(earliest) {
			s.skip(at, true, event.MissSchedule, "Missed scheduled time to start a job: %s", at.UTC().Format(time.RFC1123Z))
			return
		}
		if earliest.After(since) {
			since = earliest
		}
	}
	name := fmt.Sprintf("%s-%d", s.r.Name, at.Unix()/60)
	if slices.ContainsFunc(s.r.Jobs, func(j Job) bool { return j.Name == name }) {
		return
	}
	if s.unended() >= maxUnended {
		s.skip(at, true, event.JobAlreadyActive, "Not starting job because %d jobs have not ended", maxUnended)
		return
	}
	for i := range s.r.Jobs {
		j := &s.r.Jobs[i]
		if j.Deleted || j.Finished() != nil {
			continue
		}
		switch want.Cron.ConcurrencyPolicy {
		case batchv1.ForbidConcurrent:
			s.skip(at, false, event.JobAlreadyActive, "Not starting job because prior execution is running and concurrency policy is Forbid")
			return
		case batchv1.ReplaceConcurrent:
			s.deleteJob(j)
		case batchv1.AllowConcurrent:
		}
	}
	missed := since.In(s.in.Now.Location())
	for n := 0; !missed.After(s.in.Now); n++ {
		if n > manyMissed {
			s.reportCron(true, event.TooManyMissedTimes, "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
			break
		}
		missed = schedule.Next(missed)
	}
	s.r.LastSchedule = at
	s.r.Jobs = append(s.r.Jobs, newJob(name, want.RunUID(name), s.in.Want))
	s.reportCron(false, event.SuccessfulCreate, "Created job %s", name)
}

// unended counts the jobs that run, or that are deleted and still have pods.
func (s *step) unended() (n int) {
	for i := range s.r.Jobs {
		if j := &s.r.Jobs[i]; j.Deleted || j.Finished() == nil {
			n++
		}
	}
	return n
}

// skip reports once why no job is started for a time.
func (s *step) skip(at time.Time, warning bool, reason, format string, args ...any) {
	if !s.r.Skipped.Equal(at) {
		s.r.Skipped = at
		s.reportCron(warning, reason, format, args...)
	}
}

func (s *step) deleteJob(j *Job) {
	j.Deleted = true
	s.reportCron(false, event.SuccessfulDelete, "Deleted job %s", j.Name)
}

// trimHistory deletes the oldest jobs that have ended, beyond the limits of their kind.
func (s *step) trimHistory(c *batchv1.CronJobSpec) {
	for of, limit := range map[batchv1.JobConditionType]*int32{batchv1.JobComplete: c.SuccessfulJobsHistoryLimit, batchv1.JobFailed: c.FailedJobsHistoryLimit} {
		var ended []*Job
		for i := range s.r.Jobs {
			if j := &s.r.Jobs[i]; !j.Deleted && j.condition(of) != nil {
				ended = append(ended, j)
			}
		}
		started := func(j *Job) (at time.Time) {
			if t := j.Status.StartTime; t != nil { // one that was suspended, and had nothing to do
				at = t.Time
			}
			return at
		}
		slices.SortStableFunc(ended, func(a, b *Job) int { return cmp.Or(started(a).Compare(started(b)), cmp.Compare(a.Name, b.Name)) })
		for limit != nil && len(ended) > int(*limit) {
			s.deleteJob(ended[0])
			s.syncJob(ended[0])
			ended = ended[1:]
		}
	}
}
