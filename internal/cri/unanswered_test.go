package cri

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A metric of calls in flight that began again with each try of a call that is
// retried every ten seconds would never reach the threshold of its alert.
func TestRetriedCallCountsFromItsFirstTry(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	began := now
	calls := NewCalls(func() time.Time { return now })
	deadline := &Error{kinds: []error{ErrDeadline}}
	try := func(id string, took time.Duration, err error) {
		end := calls.Begin("ContainerStatus", id)
		now = now.Add(took)
		end(err)
	}
	for i := range 20 {
		try("db", 10*time.Second, []error{deadline, context.Canceled}[i%2])
		try("web", time.Millisecond, nil)
		now = now.Add(time.Second)
		if u := calls.Unanswered()["ContainerStatus"]; !u.Since.Equal(began) || u.Number != 1 {
			t.Fatalf("%+v, want one since %v", u, began)
		}
	}
	calls.Begin("ContainerStatus", "db")
	if u := calls.Unanswered()["ContainerStatus"]; !u.Since.Equal(began) || u.Number != 1 {
		t.Errorf("while it is retried: %+v, want one since %v", u, began)
	}
	calls.Begin("ContainerStatus", "api")
	if u := calls.Unanswered()["ContainerStatus"]; !u.Since.Equal(began) || u.Number != 2 {
		t.Errorf("beside another call: %+v, want two since %v", u, began)
	}
	calls = NewCalls(func() time.Time { return now })
	try("db", 10*time.Second, deadline)
	try("db", time.Second, errors.New("an answer"))
	if since := calls.Unanswered(); len(since) != 0 {
		t.Errorf("after an answer: %v", since)
	}
	try("db", 10*time.Second, deadline)
	now = now.Add(retryTime + time.Second)
	if since := calls.Unanswered(); len(since) != 0 || len(calls.unanswered) != 0 {
		t.Errorf("a call that is not retried: %v", since)
	}
}
