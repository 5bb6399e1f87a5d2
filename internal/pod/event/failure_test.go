package event

import (
	"errors"
	"fmt"
	"testing"
)

func TestLayerOfFirstLayeredError(t *testing.T) {
	cause := errors.New("deadline exceeded")
	for _, tt := range []struct {
		name string
		err  error
		want Layer
	}{
		{"plain", cause, ""},
		{"marked", At(LayerSandbox, cause), LayerSandbox},
		{"wrapped", fmt.Errorf("terminate pod: %w", At(LayerVolume, cause)), LayerVolume},
		{"outermost wins", At(LayerRuntime, fmt.Errorf("x: %w", At(LayerSandbox, cause))), LayerRuntime},
		{"first of several", errors.Join(cause, At(LayerContainer, cause), At(LayerSandbox, cause)), LayerContainer},
		{"none", At(LayerSandbox, nil), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := LayerOf(tt.err); got != tt.want {
				t.Errorf("layer %q, want %q", got, tt.want)
			}
		})
	}
	if err := At(LayerSandbox, cause); err.Error() != cause.Error() || !errors.Is(err, cause) {
		t.Errorf("the marked error is %v", err)
	}
}

func TestFailureHasOperationLayerAndText(t *testing.T) {
	got := FailureOf("terminate", fmt.Errorf("stop: %w", At(LayerSandbox, errors.New("busy"))))
	if want := (Failure{Op: "terminate", Layer: LayerSandbox, Text: "stop: busy"}); got != want {
		t.Errorf("failure %+v, want %+v", got, want)
	}
	if !FailureOf("sync", nil).IsZero() {
		t.Error("no error is a failure")
	}
}
