package cri

// CallWatcher is told of every unary call while it is in flight, which an
// Observer is not. Its methods must not block and are called from many
// goroutines.
type CallWatcher interface {
	// Begin: a call of the method begins, about the container or sandbox of
	// this id, "" where it is about none. The function that it returns is
	// called once, with the call's *Error or nil.
	Begin(method, id string) (end func(err error))
}

// idOf is the id of the container or sandbox that a request is about.
func idOf(req any) string {
	switch r := req.(type) {
	case interface{ GetContainerId() string }:
		return r.GetContainerId()
	case interface{ GetPodSandboxId() string }:
		return r.GetPodSandboxId()
	}
	return ""
}
