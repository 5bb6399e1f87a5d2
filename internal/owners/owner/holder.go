package owner

import (
	"crypto/rand"
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
