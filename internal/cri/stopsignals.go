package cri

// stopSignalsSince is the release of each runtime from which on it is known to
// heed a container's stop signal; one that is not here is taken to.
var stopSignalsSince = map[string][2]int{"containerd": {2, 4}, "cri-o": {1, 34}}

// StopSignals reports whether the runtime is known to stop a container with the
// signal that its config names. An older one reads past it without a word.
func (v Version) StopSignals() bool { return v.since(stopSignalsSince) }
