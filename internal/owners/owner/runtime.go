package owner

import (
	"crypto/sha256"
	"encoding/hex"
)

// Runtime is what a runtime says about itself, by which it is recognized through
// a proxy, too. The zero value is a runtime about which nothing is known.
type Runtime struct {
	// Endpoint is the socket that is used.
	Endpoint string `json:"endpoint,omitempty"`
	// Name is the runtime's, Storage the directory in which it keeps images, as it
	// names it.
	Name    string `json:"name,omitempty"`
	Storage string `json:"storage,omitempty"`
	// File identifies that directory on this host, as device and inode, "" if it is
	// not seen from here.
	File string `json:"file,omitempty"`
}

// Same reports whether both are one runtime, by whatever endpoint it is reached.
// Two runtimes do not share the directory of their images; in containers with
// directories of their own two may have the same path.
func (r Runtime) Same(other Runtime) bool {
	switch {
	case r.Name != other.Name || r.Storage != other.Storage || r.Storage == "":
		return false
	case r.File != "" && other.File != "":
		return r.File == other.File
	}
	return r.File != "" || other.File != ""
}

// Differs reports whether both are known not to be one runtime. What a proxy in a
// container sees of its files says nothing.
func (r Runtime) Differs(other Runtime) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	return differ(r.Name, other.Name) || differ(r.Storage, other.Storage)
}

// Fingerprint is the same for a runtime by every endpoint; "" if that cannot be
// determined.
func (r Runtime) Fingerprint() string {
	if r.Storage == "" || r.File == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(r.Name + "\n" + r.Storage + "\n" + r.File))
	return hex.EncodeToString(sum[:8])
}
