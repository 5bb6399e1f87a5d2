package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/podctl/podctl/internal/cri/stream"
)

// maxReport bounds the report of a command's result, in bytes.
const maxReport = 64 << 10

// ErrLost: the connection ended before the node reported the result.
var ErrLost = errors.New("the connection to the node was lost")

// result returns the error that a report stands for.
func result(report []byte) error {
	if len(report) == 0 {
		return ErrLost
	}
	var status metav1.Status
	if err := json.Unmarshal(report, &status); err != nil {
		return errors.New("the report of the command's result is not JSON")
	}
	switch {
	case status.Status == metav1.StatusSuccess:
		return nil
	case status.Reason != remotecommand.NonZeroExitCodeReason:
		return &RefusedError{Code: int(status.Code), Message: status.Message}
	case status.Details == nil:
		return errors.New("the report of the command's result has no exit code")
	}
	for _, cause := range status.Details.Causes {
		if cause.Type == remotecommand.ExitCodeCauseType {
			code, err := strconv.ParseUint(cause.Message, 10, 8)
			if err != nil || code == 0 {
				return fmt.Errorf("the report of the command's result has the exit code %q", cause.Message)
			}
			return &stream.ExitError{Code: int(code)}
		}
	}
	return errors.New("the report of the command's result has no exit code")
}

// RefusedError: the API server or the node refused to run the command.
type RefusedError struct {
	// Code is that of HTTP, 0 if it is not known.
	Code    int
	Message string
}

func (e *RefusedError) Error() string { return e.Message }

// Hint names the permission that is missing.
func (e *RefusedError) Hint() string {
	if e.Code == http.StatusForbidden || e.Code == http.StatusUnauthorized {
		return "the plugin needs the verbs create and get of pods/exec in the namespace of the inspector pods"
	}
	return ""
}

// asRefused turns the API server's own error into a *RefusedError.
func asRefused(err error) error {
	var upgrade *httpstream.UpgradeFailureError
	if errors.As(err, &upgrade) && upgrade.Cause != nil {
		err = upgrade.Cause
	}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return &RefusedError{Code: int(status.ErrStatus.Code), Message: status.ErrStatus.Message}
	}
	return err
}
