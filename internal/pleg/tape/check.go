package tape

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// maxSpan keeps the arithmetic of times from overflowing.
const maxSpan = int64(math.MaxInt64 / 4)

// check rejects an entry that no Recorder writes after the previous ones.
func (t *Reader) check(e *entry) error {
	switch {
	case e.T < t.last:
		return fmt.Errorf("time goes back by %v", time.Duration(t.last-e.T))
	case e.T > maxSpan:
		return errors.New("the time is out of range")
	}
	t.last = e.T
	switch e.Do {
	case kindCall:
		return t.checkCall(e)
	case kindAnswer:
		return t.checkAnswer(e)
	case kindOpened, kindClosed:
	case kindHint:
		if e.Hint == nil || e.Hint.ID == "" {
			return errors.New("a hint without an id")
		}
	case kindEnd:
		t.ended = true
	default:
		return fmt.Errorf("unknown entry %q", e.Do)
	}
	return nil
}

func (t *Reader) checkCall(e *entry) error {
	switch e.Op {
	case opList:
	case opPod, opStatus:
		if e.UID == "" {
			return fmt.Errorf("a %s without a uid", e.Op)
		}
	default:
		return fmt.Errorf("unknown call %q", e.Op)
	}
	if e.N <= t.number {
		return fmt.Errorf("call %d comes after call %d", e.N, t.number)
	}
	t.number = e.N
	t.calls[e.N] = e.Op
	return nil
}

func (t *Reader) checkAnswer(e *entry) error {
	op, called := t.calls[e.N]
	if !called {
		return fmt.Errorf("an answer to call %d, which is none that waits for one", e.N)
	}
	delete(t.calls, e.N)
	switch {
	case e.Error != "":
		return nil
	case op == opStatus && e.Status == nil:
		return errors.New("a status without a status")
	case op == opPod && len(e.Pods) > 1:
		return errors.New("more than one pod where one was asked for")
	case op == opList && e.Same && !t.listed:
		return errors.New("the same as a list that does not come before")
	}
	t.listed = t.listed || op == opList
	for _, p := range e.Pods {
		if p.UID == "" {
			return errors.New("a pod without a uid")
		}
	}
	return nil
}
