package hint

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestErrorfKeepsTextCauseAndAdvice(t *testing.T) {
	err := Errorf("look with ls", "read %q: %w", "a", fs.ErrNotExist)
	if got, want := err.Error(), `read "a": file does not exist`; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
	for name, err := range map[string]error{"itself": err, "wrapped": fmt.Errorf("pod web: %w", err), "joined": errors.Join(fs.ErrExist, err)} {
		if got := Of(err); got != "look with ls" {
			t.Errorf("%s: hint %q", name, got)
		}
	}
}

func TestWithReplacesAdvice(t *testing.T) {
	if got := Of(With(Errorf("old", "text"), "new")); got != "new" {
		t.Errorf("hint %q", got)
	}
}

func TestWithoutAdvice(t *testing.T) {
	if With(nil, "advice") != nil {
		t.Error("advice makes an error of nil")
	}
	if err := With(fs.ErrExist, ""); err != fs.ErrExist { //nolint:errorlint // the same value is asked for
		t.Errorf("without advice: %v", err)
	}
	if got := Of(fs.ErrExist); got != "" {
		t.Errorf("hint %q", got)
	}
	if got := Of(nil); got != "" {
		t.Errorf("hint of nil: %q", got)
	}
}
