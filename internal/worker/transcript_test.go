package worker

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/testkit/testutil"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// TestTranscripts plays testdata/*.txt: a comment with the kubelet's rule,
// then commands, "----" and the recorded answer: the effects in order, and the
// state that they leave. -update records them again.
func TestTranscripts(t *testing.T) { testutil.Transcripts(t, *update, matrixFile, play) }

// play keeps a transcript's comments and commands, and answers each block
// again. Blocks are parted by empty lines.
func play(t *testing.T, text string) string {
	s := &script{t: t, w: newWorld(Step), specs: map[types.UID]spec{}}
	var out []string
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		question, _, _ := strings.Cut(block, "\n----")
		answer := ""
		for line := range strings.SplitSeq(question, "\n") {
			if !strings.HasPrefix(line, "#") {
				answer += s.run(line)
			}
		}
		if answer != "" {
			question += "\n----\n" + strings.TrimSuffix(answer, "\n")
		}
		out = append(out, question)
	}
	for _, v := range s.w.check.violations {
		t.Errorf("%s", v)
	}
	return strings.Join(out, "\n\n") + "\n"
}

// script runs the commands of one transcript.
type script struct {
	t     *testing.T
	w     *world
	specs map[types.UID]spec
}

// run runs one command: VERB UID WORD... Words about the spec (name=a
// exclusive grace=30) hold on for the UID.
func (s *script) run(line string) string {
	words := strings.Fields(line)
	if words[0] == "known" {
		var desired []types.UID
		for _, uid := range words[1:] {
			desired = append(desired, types.UID(uid))
		}
		text := ""
		before := s.w.uids()
		effects := s.w.known(desired...)
		for _, uid := range before {
			text += s.answer(uid, effects[uid])
		}
		return text
	}
	uid := types.UID(words[1])
	args := map[string]string{}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		args[key] = value
	}
	return s.answer(uid, s.w.give(uid, s.event(words[0], uid, args)))
}

func (s *script) answer(uid types.UID, effects []Effect) string {
	var state State
	if p := s.w.pods[uid]; p != nil {
		state = p.state
	}
	return fmt.Sprintf("%s: %s\n%s", uid, state, describe(effects))
}

func (s *script) event(verb string, uid types.UID, args map[string]string) Event {
	sp, known := s.specs[uid]
	if !known {
		sp.name = "web"
	}
	take := func(key string) (string, bool) {
		value, ok := args[key]
		delete(args, key)
		return value, ok
	}
	number := func(key string) *int64 {
		value, ok := take(key)
		if !ok {
			return nil
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		return &n
	}
	if name, ok := take("name"); ok {
		sp.name = name
	}
	if _, ok := take("exclusive"); ok {
		sp.exclusive = true
	}
	if grace := number("spec"); grace != nil {
		sp.grace = grace
	}
	s.specs[uid] = sp
	p := testPod(uid, sp.name, sp.grace)
	_, empty := take("empty")

	defer func() {
		if len(args) > 0 {
			s.t.Fatalf("%s: unknown words %v", verb, slices.Sorted(maps.Keys(args)))
		}
	}()
	switch verb {
	case "create", "update", "sync":
		if grace := number("deleted"); grace != nil {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: s.w.now}, grace
		}
		if phase, ok := take("phase"); ok {
			p.Status.Phase = v1.PodPhase(phase)
		}
		kind := map[string]UpdateType{"create": TypeCreate, "update": TypeUpdate, "sync": TypeSync}[verb]
		return Update{Pod: p, Type: kind, Exclusive: sp.exclusive, RuntimeEmpty: empty}
	case "kill", "evict":
		ev := Kill{Pod: p, Exclusive: sp.exclusive, RuntimeEmpty: empty, Evict: verb == "evict", Grace: number("grace")}
		if waiter := number("waiter"); waiter != nil {
			ev.Waiter = WaiterID(*waiter)
		}
		if reason, ok := take("reason"); ok {
			ev.Status = StatusOverride{Phase: v1.PodFailed, Reason: reason}
		}
		return ev
	case "adopt":
		return Adopt{Pod: p, Exclusive: sp.exclusive}
	case "kill-runtime":
		return KillRuntime{Pod: &pod.Pod{UID: uid, Name: sp.name, Namespace: "ns"}, Exclusive: sp.exclusive}
	case "due":
		return Due{}
	case "done":
		return s.done(uid, take)
	}
	s.t.Fatalf("unknown command %q", verb)
	return nil
}

func (s *script) done(uid types.UID, take func(string) (string, bool)) Event {
	p := s.w.pods[uid]
	if p == nil || p.running == nil {
		s.t.Fatalf("done %s: nothing is in flight", uid)
	}
	ev := OpDone{Op: p.running.Op}
	_, ev.Terminal = take("terminal")
	if _, ok := take("error"); ok {
		ev.Err = errors.New("boom")
	}
	if _, ok := take("cancelled"); ok {
		ev.Err = context.Canceled
	}
	if _, ok := take("network"); ok {
		ev.Err = fmt.Errorf("start sandbox: %w", ErrNetworkNotReady)
	}
	if after, ok := take("retry"); ok {
		d, err := time.ParseDuration(after)
		if err != nil {
			s.t.Fatal(err)
		}
		ev.Err = fmt.Errorf("start container: %w", retryError{s.w.now.Add(d)})
	}
	return ev
}
