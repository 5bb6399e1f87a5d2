package event

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
