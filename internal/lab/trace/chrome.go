package trace

import (
	"fmt"
	"time"
)

// ChromeEvent is an event of Chrome's trace format: the begin or the end of a call. Calls
// that overlap are rows of their own, since each has an id.
type ChromeEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat"`
	Phase    string         `json:"ph"` // b, e
	ID       string         `json:"id"`
	Time     int64          `json:"ts"` // µs
	PID      int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// Chrome returns the two events of a call.
func (e *Entry) Chrome() []ChromeEvent {
	name := e.Method
	if target := e.Target.String(); target != "" {
		name += " " + target
	}
	begin := ChromeEvent{
		Name: name, Category: "cri", Phase: "b", ID: fmt.Sprintf("%#x", e.ID), Time: e.Start.UnixMicro(), PID: e.Caller.PID, Thread: e.Caller.PID,
		Args: map[string]any{"caller": e.Caller.Comm, "code": e.Code.String()},
	}
	if text := e.Result(); text != "" {
		begin.Args["result"] = text
	}
	end := begin
	end.Phase, end.Time, end.Args = "e", e.Start.Add(e.Took).UnixMicro(), nil
	return []ChromeEvent{begin, end}
}

// Result returns how a call ended, with the fields that matter: ok, 3 containers.
func (e *Entry) Result() string {
	text := "ok"
	switch {
	case e.InFlight && e.Timeout > 0:
		text = fmt.Sprintf("in flight, deadline in %s", (e.Timeout - e.Took).Round(time.Second))
	case e.InFlight:
		text = "in flight, without a deadline"
	case e.Code != 0:
		text = e.Code.String()
		if e.Status != "" {
			text += ": " + e.Status
		}
	}
	if e.Detail != "" {
		text += ", " + e.Detail
	}
	return text
}
