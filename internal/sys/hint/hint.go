package hint

import (
	"errors"
	"fmt"
)

// hinted is an error with advice.
type hinted struct {
	error
	advice string
}

// Errorf is like fmt.Errorf; the error carries advice, which may have several
// lines. Without advice it is fmt.Errorf.
func Errorf(advice, format string, args ...any) error {
	return With(fmt.Errorf(format, args...), advice)
}

// With adds advice to an error, in place of the advice that it has. It returns
// err itself if err is nil or advice is "".
func With(err error, advice string) error {
	if err == nil || advice == "" {
		return err
	}
	return &hinted{error: err, advice: advice}
}

// Hint returns the advice.
func (e *hinted) Hint() string { return e.advice }

// Unwrap returns the error without its advice.
func (e *hinted) Unwrap() error { return e.error }

// Of returns the advice of the first error in err's tree that has some, "" if
// none has.
func Of(err error) string {
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return h.Hint()
	}
	return ""
}
