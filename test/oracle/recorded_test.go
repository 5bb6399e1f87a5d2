package oracle

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
)

// readRecorded calls visit with each line of the subject's random.jsonl.gz and
// upstream.jsonl.gz. One of the two files may be missing, and in the directory
// that PODCTL_ORACLE names the whole subject.
func readRecorded[T any](t *testing.T, subject string, visit func(c T)) {
	t.Helper()
	if root := os.Getenv("PODCTL_ORACLE"); root != "" {
		if _, err := os.Stat(filepath.Join(root, subject)); errors.Is(err, fs.ErrNotExist) {
			t.Skipf("%s holds no recordings of %s", root, subject)
		}
	}
	dir := oracleDir(t, subject)
	lines := 0
	for _, name := range []string{"random.jsonl.gz", "upstream.jsonl.gz"} {
		file, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for decoder := json.NewDecoder(unzipped); decoder.More(); lines++ {
			var c T
			if err := decoder.Decode(&c); err != nil {
				t.Fatalf("%s, case %d: %v", name, lines+1, err)
			}
			visit(c)
		}
	}
	if lines == 0 {
		t.Fatalf("%s holds no case", dir)
	}
}

// tally counts how the cases of a subject compare.
type tally struct {
	equal, documented, failing int
	// rows counts the documented differences by the name of their row.
	rows map[string]int
}

func (c *tally) log(t *testing.T, subject string) {
	t.Logf("%s: %d equal, %d documented, %d failing %v", subject, c.equal, c.documented, c.failing, c.rows)
}

// documented is a row of docs/kubelet-differences.md: the cases C to which it
// applies, and what it removes from both answers A to them.
type documented[C, A any] struct {
	// row is how the row begins.
	row     string
	applies func(c C) bool
	even    func(answer *A)
}

// judge compares two answers to one case: answers without a difference are
// equal, and documented where the rows that apply remove the difference; any
// other difference fails.
func judge[C, A any](t *testing.T, counts *tally, c C, name string, rows []documented[C, A], want, got A) {
	diff := cmp.Diff(want, got, cmpopts.EquateEmpty())
	if diff == "" {
		counts.equal++
		return
	}
	for _, d := range rows {
		if !d.applies(c) {
			continue
		}
		d.even(&want)
		d.even(&got)
		if cmp.Equal(want, got, cmpopts.EquateEmpty()) {
			counts.documented++
			counts.rows[d.row]++
			return
		}
	}
	counts.failing++
	t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) { t.Errorf("(-kubelet +podctl):\n%s", diff) })
}

// recordedRuntime is what the runtime holds of a pod, newest first.
type recordedRuntime struct {
	IPs        []string            `json:"ips"`
	Sandboxes  []recordedSandbox   `json:"sandboxes"`
	Containers []recordedContainer `json:"containers"`
}

type recordedSandbox struct {
	ID          string    `json:"id"`
	State       string    `json:"state"`
	Attempt     uint32    `json:"attempt"`
	CreatedAt   time.Time `json:"createdAt"`
	IPs         []string  `json:"ips"`
	HostNetwork bool      `json:"hostNetwork"`
}

type recordedContainer struct {
	ID           string    `json:"id"`
	SandboxID    string    `json:"sandboxID"`
	Name         string    `json:"name"`
	State        string    `json:"state"`
	Attempt      uint32    `json:"attempt"`
	RestartCount int32     `json:"restartCount"`
	HashMatches  bool      `json:"hashMatches"`
	ExitCode     int32     `json:"exitCode"`
	Reason       string    `json:"reason"`
	Message      string    `json:"message"`
	CreatedAt    time.Time `json:"createdAt"`
	StartedAt    time.Time `json:"startedAt"`
	FinishedAt   time.Time `json:"finishedAt"`
	Image        string    `json:"image"`
	ImageID      string    `json:"imageID"`
	ImageRef     string    `json:"imageRef"`
	User         *struct {
		UID                int64   `json:"uid"`
		GID                int64   `json:"gid"`
		SupplementalGroups []int64 `json:"supplementalGroups"`
	} `json:"user"`
	// Active: of the newest sandbox, which is ready.
	Active bool `json:"active"`
}

// elsewhere is the sandbox of containers that do not belong to the newest.
const elsewhere = "another sandbox"

// status is the recorded runtime as the PLEG's cache would hold it.
func (r recordedRuntime) status(p *v1.Pod) *pod.Status {
	st := &pod.Status{UID: p.UID, Name: p.Name, Namespace: p.Namespace, IPs: r.IPs}
	for _, s := range r.Sandboxes {
		state := pod.Exited
		if s.State == "ready" {
			state = pod.Running
		}
		st.Sandboxes = append(st.Sandboxes, &pod.SandboxStatus{
			ID: s.ID, Attempt: s.Attempt, State: state, CreatedAt: s.CreatedAt, IPs: s.IPs, HostNetwork: s.HostNetwork,
		})
	}
	for _, c := range r.Containers {
		st.Containers = append(st.Containers, c.status(p, r))
	}
	return st
}

func (c recordedContainer) status(p *v1.Pod, r recordedRuntime) *pod.ContainerStatus {
	cs := &pod.ContainerStatus{
		ID: c.ID, SandboxID: elsewhere, Name: c.Name, Attempt: c.Attempt, State: c.state(),
		CreatedAt: c.CreatedAt, StartedAt: c.StartedAt, FinishedAt: c.FinishedAt,
		ExitCode: c.ExitCode, Image: c.Image, ImageID: c.ImageID, ImageRef: c.ImageRef,
		Hash: "of another definition", RestartCount: c.RestartCount, Reason: c.Reason, Message: c.Message,
	}
	if c.Active {
		cs.SandboxID = r.Sandboxes[0].ID
	}
	for v := range pod.Containers(p) {
		if v.Name == c.Name && c.HashMatches {
			cs.Hash = render.Hash(v)
		}
	}
	if c.User != nil {
		cs.User = &pod.User{UID: c.User.UID, GID: c.User.GID, SupplementalGroups: c.User.SupplementalGroups}
	}
	return cs
}

func (c recordedContainer) state() pod.State {
	switch c.State {
	case "created":
		return pod.Created
	case "running":
		return pod.Running
	case "exited":
		return pod.Exited
	default:
		return pod.Unknown
	}
}

// recordedProbes are the results of probes by container id.
type recordedProbes struct {
	Startup   map[string]string `json:"startup"`
	Liveness  map[string]string `json:"liveness"`
	Readiness map[string]string `json:"readiness"`
}

func (r recordedProbes) results() pod.ProbeResults {
	return pod.ProbeResults{Startup: probeResults(r.Startup), Liveness: probeResults(r.Liveness), Readiness: probeResults(r.Readiness)}
}

func probeResults(words map[string]string) map[string]pod.ProbeResult {
	results := map[string]pod.ProbeResult{}
	for id, word := range words {
		results[id] = map[string]pod.ProbeResult{
			"unknown": pod.ProbeUnknown, "success": pod.ProbeSuccess, "failure": pod.ProbeFailure,
		}[word]
	}
	return results
}
