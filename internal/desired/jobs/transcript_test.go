package jobs

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

// TestTranscripts plays testdata/*.txt: a comment with the rule, a manifest, ====, and commands each with what
// was recorded of it: events, and what is known afterwards.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no transcripts")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, rest, _ := strings.Cut(string(content), "\n====\n")
			w := newWorld(t, text)
			got := text + "\n====\n"
			for line := range strings.Lines(rest) {
				if command, ok := strings.CutPrefix(line, "> "); ok {
					got += line + w.do(strings.Fields(command))
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(content) {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

// world is a Record and the pods that a node has of it.
type world struct {
	t        *testing.T
	template *manifest.Pod
	want     bool
	record   Record
	now      time.Time
	wake     time.Time
	seen     map[types.UID]Seen
}

func newWorld(t *testing.T, text string) *world {
	set, err := manifest.Parse(t.Context(), "x.yaml", []byte(text), manifest.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	j := set.Pods[0].Job
	return &world{
		t: t, template: set.Pods[0], want: true, record: Record{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name},
		now: time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC), seen: map[types.UID]Seen{},
	}
}

func (w *world) do(command []string) string {
	number := func(i int) int {
		n, err := strconv.Atoi(command[i])
		if err != nil {
			w.t.Fatal(command, err)
		}
		return n
	}
	spec := &w.template.Job.Spec
	switch command[0] {
	case "step":
	case "run": // all pods that are desired
		for i := range w.record.Jobs {
			for uid, id := range w.record.Jobs[i].Desired() {
				if _, ok := w.seen[uid]; !ok {
					w.see(id, Seen{Status: v1.PodStatus{Phase: v1.PodRunning}})
				}
			}
		}
	case "end", "restarts": // pod, exit code or restarts
		s := Seen{Ended: true, Status: v1.PodStatus{Phase: v1.PodSucceeded, ContainerStatuses: []v1.ContainerStatus{{
			Name: "c", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: int32(number(2)), FinishedAt: metav1.NewTime(w.now)}},
		}}}}
		if number(2) != 0 {
			s.Status.Phase = v1.PodFailed
		}
		if command[0] == "restarts" {
			s = Seen{Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{RestartCount: int32(number(2))}}}}
		}
		w.see(w.pod(number(1)), s)
	case "rm":
		w.see(w.pod(number(1)), Seen{Removed: true})
	case "other": // a pod with the UID of the Job's pod of a number, made or not, has succeeded
		j := &w.record.Jobs[0]
		id := j.id(Pod{Number: number(1)})
		w.seen[id.UID()] = Seen{Namespace: "mallory", Name: "other", Ended: true, Status: v1.PodStatus{Phase: v1.PodSucceeded}}
	case "gone": // what is not desired
		for i := range w.record.Jobs {
			j := &w.record.Jobs[i]
			for _, p := range j.Pods {
				if p.Deleting {
					delete(w.seen, j.id(p).UID())
				}
			}
		}
	case "after":
		d, err := time.ParseDuration(command[1])
		if err != nil {
			w.t.Fatal(err)
		}
		w.now = w.now.Add(d)
	case "jobs": // so many times of the schedule come, one by one
		for range number(1) {
			w.now = w.wake
			w.step()
		}
	case "due":
		w.now = w.wake
	case "suspend":
		suspended := command[1] == "true"
		spec.Suspend = &suspended
	case "parallelism":
		n := int32(number(1))
		spec.Parallelism = &n
	case "scale": // an Indexed Job, to so many indexes at a time
		n := int32(number(1))
		spec.Completions, spec.Parallelism = &n, &n
	case "restart": // another process reads the file
		content, err := encode(w.record)
		if err != nil {
			w.t.Fatal(err)
		}
		if w.record, err = decode(content, Record{}); err != nil {
			w.t.Fatal(err)
		}
	case "remove":
		w.want = false
	default:
		w.t.Fatal("no command", command)
	}
	return w.step()
}

// see has the node see a pod.
func (w *world) see(id manifest.JobPod, s Seen) {
	s.Namespace, s.Name = w.record.Namespace, id.Name(w.record.Namespace)
	w.seen[id.UID()] = s
}

// pod returns a pod by its number among those of all Jobs.
func (w *world) pod(n int) manifest.JobPod {
	for i := range w.record.Jobs {
		j := &w.record.Jobs[i]
		for _, p := range j.Pods {
			if n == 0 {
				return j.id(p)
			}
			n--
		}
	}
	w.t.Fatal("no such pod")
	return manifest.JobPod{}
}

// maxShown is how many jobs a transcript shows.
const maxShown = 5

func (w *world) step() string {
	in := Input{Now: w.now, Seen: w.seen, Settled: true}
	if w.want {
		in.Want = w.template
	}
	before := w.record
	was, _ := json.Marshal(before)
	record, result := Step(before, in)
	if is, _ := json.Marshal(before); string(is) != string(was) {
		w.t.Errorf("Step has changed its argument from %s to %s", was, is)
	}
	w.record, w.wake = record, result.Wake
	var b strings.Builder
	for _, ev := range result.Events {
		warning := ""
		if ev.Warning {
			warning = "warning "
		}
		fmt.Fprintf(&b, "%s%s %s: %s: %s\n", warning, ev.Kind, ev.Name, ev.Reason, ev.Message)
	}
	for i := range w.record.Jobs {
		if i == maxShown {
			fmt.Fprintf(&b, "  and %d more\n", len(w.record.Jobs)-i)
			break
		}
		b.WriteString(describe(&w.record.Jobs[i]))
	}
	if !w.wake.IsZero() {
		fmt.Fprintf(&b, "  next in %s\n", w.wake.Sub(w.now))
	}
	return b.String()
}

func describe(j *Job) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s:", j.Name)
	for _, p := range j.Pods {
		state := strings.ToLower(string(p.Phase))
		if p.Phase == "" {
			state = "active"
		}
		if p.Deleting {
			state = "deleting"
		}
		index := ""
		if p.Index != nil {
			index = fmt.Sprintf("[%d]", *p.Index)
		}
		fmt.Fprintf(&b, " %d%s %s", p.Number, index, state)
	}
	fmt.Fprintf(&b, "; %d succeeded, %d failed", j.Status.Succeeded, j.Status.Failed)
	for _, c := range j.Status.Conditions {
		fmt.Fprintf(&b, ", %s", c.Type)
	}
	if j.Deleted {
		b.WriteString(", deleted")
	}
	if j.Expired {
		b.WriteString(", expired")
	}
	return b.String() + "\n"
}

// TestMadePodsAreWhatTheirControllerMakes compares what the controller adds to the template.
func TestMadePodsAreWhatTheirControllerMakes(t *testing.T) {
	w := newWorld(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {completions: 2, parallelism: 2, completionMode: Indexed, backoffLimitPerIndex: 1,
  template: {metadata: {labels: {app: x}}, spec: {restartPolicy: Never, containers: [{name: c, image: x, env: [{name: A, value: b}]}]}}}}`)
	w.do([]string{"step"})
	j := &w.record.Jobs[0]
	desired := j.Desired()
	if len(desired) != 2 {
		t.Fatalf("desired: %v", desired)
	}
	ids := slices.SortedFunc(maps.Values(desired), func(a, b manifest.JobPod) int { return a.Number - b.Number })
	p, document, err := manifest.StampJobPod(j.Document, ids[1])
	if err != nil {
		t.Fatal(err)
	}
	if again, _, _ := manifest.StampJobPod(document, ids[1]); again == nil || again.UID != p.UID || p.UID != ids[1].UID() {
		t.Errorf("uid %s, stamped again %v", p.UID, again)
	}
	if p.Spec.Hostname != "train-1" || !strings.HasPrefix(p.Name, "train-1-") || len(p.Name) != len("train-1-")+5 {
		t.Errorf("name %s, hostname %s", p.Name, p.Spec.Hostname)
	}
	for key, want := range map[string]string{"app": "x", "job-name": "train", "batch.kubernetes.io/job-completion-index": "1", "controller-uid": string(j.UID)} {
		if p.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, p.Labels[key], want)
		}
	}
	for key, want := range map[string]string{"batch.kubernetes.io/job-completion-index": "1", "batch.kubernetes.io/job-index-failure-count": "0"} {
		if p.Annotations[key] != want {
			t.Errorf("annotation %s is %q, want %q", key, p.Annotations[key], want)
		}
	}
	env := p.Spec.Containers[0].Env
	if len(env) != 2 || env[1].Name != "JOB_COMPLETION_INDEX" || env[1].ValueFrom.FieldRef.FieldPath != "metadata.labels['batch.kubernetes.io/job-completion-index']" {
		t.Errorf("env %+v", env)
	}
}

// Of the failed pods of an index that runs again the last one stays beyond the last 100, with the count of failures.
func TestLastFailedPodOfAnIndexStays(t *testing.T) {
	w := newWorld(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {completions: 3, parallelism: 3, completionMode: Indexed, backoffLimitPerIndex: 1000,
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}`)
	end := func(index int, phase v1.PodPhase) {
		for uid, id := range w.record.Jobs[0].Desired() {
			if _, ended := w.seen[uid]; !ended && *id.Index == index {
				w.see(id, Seen{Ended: true, Status: v1.PodStatus{Phase: phase}})
			}
		}
		w.step()
		w.do([]string{"after", "1h"}) // its back-off
		w.do([]string{"gone"})
	}
	w.step()
	end(1, v1.PodFailed)
	end(2, v1.PodFailed)
	end(2, v1.PodSucceeded)
	const failures = 120
	for range failures {
		end(0, v1.PodFailed)
	}
	j := &w.record.Jobs[0]
	ended, active := map[int]int{}, map[int]Pod{}
	for _, p := range j.Pods {
		if p.isActive() {
			active[*p.Index] = p
		} else if !p.Deleting {
			ended[*p.Index]++
		}
	}
	if want := map[int]int{0: maxEnded, 1: 1}; !maps.Equal(ended, want) {
		t.Errorf("ended pods of each index: %v, want %v", ended, want)
	}
	if len(active) != 2 || active[0].Failures != failures || active[1].Failures != 1 {
		t.Errorf("active pods: %+v", active)
	}
	w.do([]string{"suspend", "true"}) // those that run are forgotten
	w.do([]string{"gone"})
	w.do([]string{"suspend", "false"})
	for _, p := range w.record.Jobs[0].active() {
		if want := map[int]int32{0: failures, 1: 1}[*p.Index]; p.Failures != want {
			t.Errorf("index %d begins again after %d failures, want %d", *p.Index, p.Failures, want)
		}
	}
}

// TestAroundTimesOfASchedule compares with what a search step by step finds.
func TestAroundTimesOfASchedule(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"* * * * *", "*/7 3-5 * * 1-5", "30 2 * * *", "0 0 29 2 *", "@every 90s", "TZ=America/New_York 30 2 * * *"} {
		schedule, err := cron.ParseStandard(text)
		if err != nil {
			t.Fatal(err)
		}
		for hours := range 60 {
			since := time.Date(2026, 3, 27, 0, 0, 0, 0, berlin)
			now := since.Add(time.Duration(hours) * (time.Hour + 13*time.Second))
			var want time.Time
			next := schedule.Next(since)
			for ; !next.After(now); next = schedule.Next(next) {
				want = next
			}
			if last, after := around(schedule, since, now); !last.Equal(want) || !after.Equal(next) {
				t.Fatalf("%s at %s: %s, then %s; want %s, then %s", text, now, last, after, want, next)
			}
		}
	}
}
