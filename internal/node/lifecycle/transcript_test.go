package lifecycle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/testkit/testutil"
)

// TestTranscripts plays testdata/*.txt: a comment with the rule, then commands,
// "----" and the recorded answer: the actions, and all entries. -update records
// them again.
func TestTranscripts(t *testing.T) { testutil.Transcripts(t, *update, "matrix.txt", play) }

// play keeps a transcript's comments and commands, and answers each block.
func play(t *testing.T, text string) string {
	s := &script{t: t, now: matrixNow, entries: map[types.UID]Entry{}, known: map[types.UID]bool{}}
	var out []string
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		question, _, _ := strings.Cut(block, "\n----")
		answer, commands := "", 0
		for line := range strings.SplitSeq(question, "\n") {
			if !strings.HasPrefix(line, "#") {
				answer += s.run(strings.Fields(line))
				commands++
			}
		}
		if commands > 0 {
			question += "\n----\n" + strings.TrimSuffix(answer+s.state(), "\n")
		}
		out = append(out, question)
	}
	return strings.Join(out, "\n\n") + "\n"
}

// script runs the commands of one transcript:
//
//	reconcile [UID=DOCUMENT...] [grace=N]   UIDs u1, u2 … are pods of the name before the digit
//	wait DURATION
//	known UID | unknown UID
//	EVENT UID [WORD]
type script struct {
	t       *testing.T
	now     time.Time
	entries map[types.UID]Entry
	known   map[types.UID]bool
}

// pod is a pod of the name that its UID begins with: web-1 is a pod web.
func (s *script) pod(uid, document string) Desired {
	name, _, _ := strings.Cut(uid, "-")
	d := wanted(uid, name)
	d.Document = []byte(document)
	return d
}

func (s *script) run(words []string) string {
	switch words[0] {
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = s.now.Add(d)
		return ""
	case "known", "unknown":
		s.known[types.UID(words[1])] = words[0] == "known"
		return ""
	case "reconcile":
		return s.reconcile(words[1:])
	}
	uid := types.UID(words[1])
	entry, actions := Step(s.entries[uid], s.now, s.event(words[0], words[1], words[2:]))
	for _, broken := range violations(entry) {
		s.t.Error(broken)
	}
	if entry.Phase == None {
		delete(s.entries, uid)
	} else {
		s.entries[uid] = entry
	}
	text := ""
	for _, a := range actions {
		text += fmt.Sprintf("  %s: %s\n", uid, a)
	}
	return text
}

func (s *script) reconcile(words []string) string {
	in := Input{Desired: map[types.UID]Desired{}, Known: s.known, InPlace: sameNumber}
	for _, word := range words {
		uid, document, _ := strings.Cut(word, "=")
		in.Desired[types.UID(uid)] = s.pod(uid, document)
	}
	entries, actions := Reconcile(s.entries, in, s.now)
	s.entries = entries
	text := ""
	for _, a := range actions {
		text += fmt.Sprintf("  %s: %s\n", uidOf(a), a)
	}
	return text
}

// sameNumber: of the documents v1.1, v1.2 and v2, the first two.
func sameNumber(running Entry, version Desired) bool {
	before, _, _ := strings.Cut(string(running.Document), ".")
	after, _, _ := strings.Cut(string(version.Document), ".")
	return before == after
}

func uidOf(a Action) types.UID {
	switch a := a.(type) {
	case Attempt:
		return a.UID
	case Remove:
		return a.UID
	case Run:
		return a.Pod.UID
	case Update:
		return a.Pod.UID
	case Kill:
		return a.Pod.UID
	case TakeOver:
		return a.Pod.UID
	case Recreate:
		return a.Pod.UID
	case Drop:
		return a.Pod.UID
	case ReportWait:
		return a.Pod.UID
	case ReportRejection:
		return a.Pod.UID
	}
	return "?"
}

func (s *script) event(verb, uid string, words []string) Event {
	word := strings.Join(words, " ")
	switch verb {
	case "claim":
		return Claim{}
	case "defer":
		for n, name := range reasonNames {
			if name == words[0] {
				return Defer{Reason(n), errors.New(strings.Join(words[1:], " "))}
			}
		}
	case "reject":
		return Reject{errors.New(word)}
	case "begin":
		for n, name := range startModeNames {
			if name == word {
				return Begin{Mode: StartMode(n), Pod: s.pod(uid, "").Pod, StopNext: StartMode(n) == StayStopped}
			}
		}
	case "found":
		return Found{Desired: s.pod(uid, word)}
	case "leftover":
		return Leftover{s.pod(uid, word)}
	case "cleaned":
		return Cleaned{}
	case "removed":
		if word != "" {
			return RemovalDone{errors.New(word)}
		}
		return RemovalDone{}
	case "stop":
		return Stop{}
	case "start":
		return Start{}
	}
	s.t.Fatalf("unknown command %q %q", verb, word)
	return nil
}

func (s *script) state() string {
	text := ""
	byName := func(a, b Entry) int { return CompareNames(a.Pod, b.Pod) }
	for _, e := range slices.SortedFunc(maps.Values(s.entries), byName) {
		text += fmt.Sprintf("%s: %s\n", e.UID(), e)
	}
	return text
}
