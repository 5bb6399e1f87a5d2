package pod

// Image is an image that the runtime holds.
type Image struct {
	// ID is what CreateContainer should be given: it cannot mean another image
	// tomorrow.
	ID          string
	RepoTags    []string
	RepoDigests []string
	Size        uint64 // bytes
	// UID is the image's numeric user, nil where it names one; Username is that
	// name. An image with neither runs as root.
	UID      *int64
	Username string
	// Pinned: the runtime asks not to collect it as garbage.
	Pinned bool
}
