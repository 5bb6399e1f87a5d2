package event

import "errors"

// Layer is the part of a node in which an operation on a pod failed.
type Layer string

// The layers. The zero value is an error whose layer is not known.
const (
	// LayerRuntime: the runtime does not answer.
	LayerRuntime Layer = "runtime"
	// LayerStatus: the runtime answers, but the pod's status cannot be read.
	LayerStatus Layer = "status"
	// LayerSandbox: a sandbox cannot be created, stopped or removed.
	LayerSandbox Layer = "sandbox"
	// LayerContainer: a container cannot be created, started, stopped or removed.
	LayerContainer Layer = "container"
	// LayerImage: an image cannot be inspected or pulled.
	LayerImage Layer = "image"
	// LayerHook: a lifecycle hook failed.
	LayerHook Layer = "hook"
	// LayerVolume: a volume cannot be mounted, unmounted or removed.
	LayerVolume Layer = "volume"
	// LayerCgroup: the pod's cgroup cannot be created or removed.
	LayerCgroup Layer = "cgroup"
	// LayerNetwork: the node's network is not ready.
	LayerNetwork Layer = "network"
	// LayerConfig: the container's configuration cannot be made, for instance
	// because an object that it refers to is missing.
	LayerConfig Layer = "config"
	// LayerHost: a directory or file of the host cannot be written or removed.
	LayerHost Layer = "host"
	// LayerBackOff: nothing failed just now; an earlier failure is not retried yet.
	LayerBackOff Layer = "back-off"
)

// layered is an error with its layer.
type layered struct {
	error
	layer Layer
}

func (e *layered) Unwrap() error { return e.error }

// Layer returns the layer in which the error happened.
func (e *layered) Layer() Layer { return e.layer }

// At returns err as an error of the layer; its text stays. nil stays nil.
func At(layer Layer, err error) error {
	if err == nil {
		return nil
	}
	return &layered{err, layer}
}

// LayerOf returns the layer of the first error in the tree of err that has one
// (a method Layer() Layer), "" if there is none.
func LayerOf(err error) Layer {
	if e, ok := errors.AsType[interface {
		error
		Layer() Layer
	}](err); ok {
		return e.Layer()
	}
	return ""
}

// Failure is how an operation on a pod failed. The zero value is no failure.
type Failure struct {
	// Op is the operation: sync, terminate, terminate-runtime, cleanup.
	Op string `json:"op,omitempty"`
	// Layer is where it failed, "" if that is not known.
	Layer Layer `json:"layer,omitempty"`
	// Text is the error's text.
	Text string `json:"text,omitempty"`
}

// FailureOf returns the failure of an operation that ended with err, the zero
// Failure if err is nil.
func FailureOf(op string, err error) Failure {
	if err == nil {
		return Failure{}
	}
	return Failure{Op: op, Layer: LayerOf(err), Text: err.Error()}
}

// IsZero reports whether nothing failed.
func (f Failure) IsZero() bool { return f == Failure{} }
