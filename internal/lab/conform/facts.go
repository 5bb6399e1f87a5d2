package conform

// Facts are what a process sees of its container.
type Facts struct {
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Dir      string            `json:"dir"`
	UID      int               `json:"uid"`
	GID      int               `json:"gid"`
	Groups   []int             `json:"groups"`
	Hostname string            `json:"hostname"`
	TTY      bool              `json:"tty"` // its output is a terminal
	// Status are lines of /proc/self/status by name: CapEff, Seccomp, NoNewPrivs.
	Status map[string]string `json:"status"`
	UIDMap string            `json:"uidMap"`
	OOM    int               `json:"oomScoreAdj"`
	// Namespaces are links of /proc/self/ns by name.
	Namespaces map[string]string `json:"namespaces"`
	// Processes are the visible processes: id and command name.
	Processes map[int]string `json:"processes"`
	Mounts    []Mount        `json:"mounts"`
	// Files are those that were asked for, by path.
	Files map[string]File `json:"files"`
	// Limits of its cgroup, 0 without one: bytes, processes, CPUs and the weight of cgroup v1.
	MemoryLimit int64   `json:"memoryLimit"`
	CPULimit    float64 `json:"cpuLimit"`
	CPUShares   int64   `json:"cpuShares"`
}

// Mount is a mount of the container.
type Mount struct {
	Point   string `json:"point"`
	Type    string `json:"type"`
	Options string `json:"options"` // of the mount, not of its file system
}

// File is a file, or why there is none.
type File struct {
	Mode     string   `json:"mode,omitempty"` // as ls prints it: -rw-r--r--
	UID      int      `json:"uid"`
	GID      int      `json:"gid"`
	Content  string   `json:"content,omitempty"` // the first bytes of a regular file
	Entries  []string `json:"entries,omitempty"` // of a directory
	ReadOnly bool     `json:"readOnly"`          // its file system is mounted read-only
	Size     int64    `json:"size"`              // of the file system, in bytes
	Err      string   `json:"err,omitempty"`
}

// FactsPrefix begins the line of facts that a step writes.
const FactsPrefix = "facts: "
