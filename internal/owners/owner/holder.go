package owner

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/podctl/podctl/internal/sys/proc"
)

// Holder is the podctl process that holds a lock, as its lock file says.
type Holder struct {
	// Name is the name of the instance, "" in the moment before it is written.
	Name string `json:"-"`
	// ID is unique to the process: no other process of this or another boot has it.
	// It is "" in the moment before it is written.
	ID string `json:"id,omitempty"`
	// Runtime is the runtime that it uses: in the lock of the instance only.
	Runtime Runtime `json:"runtime,omitzero"`
}

// newHolder returns the holder that this process is from now on.
func newHolder(name string, runtime Runtime, procs proc.FS) Holder {
	random := make([]byte, 8)
	rand.Read(random) // never fails
	id := []string{name, hex.EncodeToString(random)}
	if boot := procs.BootID(); boot != "" {
		id = append(id, boot)
	}
	return Holder{Name: name, ID: strings.Join(id, "/"), Runtime: runtime}
}

// Is reports whether the holder is the process of an id and, where one of both
// is not known yet, the instance of a name.
func (h Holder) Is(name, id string) bool {
	if h.ID == "" || id == "" {
		return h.Name == name
	}
	return h.ID == id
}

// text is the content of a lock file: the name, and the rest as JSON in the second
// line.
func (h Holder) text() string {
	b, err := json.Marshal(h)
	if err != nil {
		return h.Name + "\n" // it consists of strings
	}
	return h.Name + "\n" + string(b) + "\n"
}

// parseHolder reads the content of a lock file.
func parseHolder(text string) Holder {
	name, rest, _ := strings.Cut(text, "\n")
	h := Holder{}
	if json.Unmarshal([]byte(rest), &h) != nil {
		h = Holder{} // being written
	}
	h.Name = strings.TrimSpace(name)
	return h
}

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

// UnseenError: podctl processes may live that cannot be seen from here.
type UnseenError struct {
	// Unreadable says that the runtime's process is in podctl's PID namespace, and podctl
	// must not read it: nor those of other podctl processes.
	Unreadable bool
}

func (e *UnseenError) Error() string {
	if e.Unreadable {
		return "podctl must not look into the runtime's process, and does not see whether the podctl process that created it lives"
	}
	return "podctl runs in another PID namespace than the runtime, and does not see whether the podctl process that created it lives"
}

// Hint says where podctl would see it, and how the user takes the responsibility.
func (e *UnseenError) Hint() string {
	if e.Unreadable {
		return "run podctl as root, in a container with the capability SYS_PTRACE; or pass --owner-is-gone if no podctl process runs there"
	}
	return "run podctl on the host, or in a container with its PID namespace; or pass --owner-is-gone if no podctl process runs there"
}
