package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Recorder asks a runtime what only reads, and adds the answers to a recording. Its methods are
// called one after the other.
type Recorder struct {
	// Runtime and Image are connections of package cri to the runtime's services.
	Runtime, Image grpc.ClientConnInterface
	Writer         *Writer

	mu  sync.Mutex
	err error // of an answer that cannot be recorded
}

// Snapshot asks everything once. An error of the runtime is in the recording; the one returned is
// of the recording, or of ctx.
func (r *Recorder) Snapshot(ctx context.Context) error {
	var asking sync.WaitGroup // some of them may hang
	for _, request := range []struct {
		name    string
		message proto.Message
	}{
		{"Version", &runtimeapi.VersionRequest{}},
		{"Status", &runtimeapi.StatusRequest{Verbose: true}},
		{"RuntimeConfig", &runtimeapi.RuntimeConfigRequest{}},
		{"ListImages", &runtimeapi.ListImagesRequest{}},
		{"ImageFsInfo", &runtimeapi.ImageFsInfoRequest{}},
		{"ListPodSandboxStats", &runtimeapi.ListPodSandboxStatsRequest{}},
		{"ListContainerStats", &runtimeapi.ListContainerStatsRequest{}},
	} {
		asking.Go(func() { r.ask(ctx, request.name, request.message) })
	}
	asking.Wait()
	return r.list(ctx)
}

// list lists sandboxes and containers, and asks for the status of each.
func (r *Recorder) list(ctx context.Context) error {
	sandboxes, _ := r.ask(ctx, "ListPodSandbox", &runtimeapi.ListPodSandboxRequest{}).(*runtimeapi.ListPodSandboxResponse)
	containers, _ := r.ask(ctx, "ListContainers", &runtimeapi.ListContainersRequest{}).(*runtimeapi.ListContainersResponse)
	all := len(sandboxes.GetItems()) + len(containers.GetContainers())
	r.Writer.expect(2 * all)
	cri.ReadEach(ctx, all, func(ctx context.Context, i int) error {
		if of := len(sandboxes.GetItems()); i >= of {
			r.ask(ctx, "ContainerStatus", &runtimeapi.ContainerStatusRequest{ContainerId: containers.GetContainers()[i-of].GetId(), Verbose: true})
			return nil
		}
		r.ask(ctx, "PodSandboxStatus", &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandboxes.GetItems()[i].GetId(), Verbose: true})
		return nil
	})
	return errors.Join(ctx.Err(), r.err)
}

// ask calls the runtime, and returns its answer, nil if that is an error.
func (r *Recorder) ask(ctx context.Context, name string, request proto.Message) proto.Message {
	m, conn := methods()[name], r.Runtime
	if slices.Contains([]string{"ListImages", "ImageFsInfo"}, name) {
		conn = r.Image
	}
	answer := m.out.New().Interface()
	failed := conn.Invoke(ctx, m.full, request, answer)
	if errors.Is(failed, context.Canceled) {
		return nil
	}
	if err := r.Writer.Add(name, request, answer, failed); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = errors.Join(r.err, err)
	}
	if failed != nil {
		return nil
	}
	return answer
}

// settleTime is how long a runtime may take to notice that a process has exited.
const settleTime = 300 * time.Millisecond

// HostOptions say where the files of a node are.
type HostOptions struct {
	Procs proc.FS
	// Cgroups is where cgroups are mounted.
	Cgroups string
	// MountsOf is a process whose mounts are recorded, 0 for none.
	MountsOf int
}

// Host adds the processes of the node, and the cgroups of those of containers, after the last
// answer of the runtime. A process that ends between that answer and this look is not one that
// the runtime has not noticed: the runtime is asked again.
func (r *Recorder) Host(ctx context.Context, o HostOptions) error {
	files, err := ReadProcesses(o.Procs, o.MountsOf)
	if err != nil {
		return fmt.Errorf("record processes: %w", err)
	}
	if !allRun(files, r.Writer.PIDs()) {
		select {
		case <-time.After(settleTime):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := r.list(ctx); err != nil {
			return err
		}
		if files, err = ReadProcesses(o.Procs, o.MountsOf); err != nil {
			return fmt.Errorf("record processes: %w", err)
		}
	}
	cgroups, err := ReadCgroups(o.Procs, o.Cgroups, r.Writer.PIDs())
	if err != nil {
		return fmt.Errorf("record cgroups: %w", err)
	}
	return r.Writer.AddFiles(append(files, cgroups...))
}

// allRun reports whether all processes are among the files, and have not ended.
func allRun(files []File, pids []int) bool {
	run := map[string]bool{}
	for _, f := range files {
		// PID (NAME) STATE …, and the name may have any character
		at := strings.LastIndex(f.Text, ") ") + 2
		run[f.Path] = at > 1 && at < len(f.Text) && !proc.State(f.Text[at]).Ended()
	}
	return !slices.ContainsFunc(pids, func(pid int) bool { return !run[fmt.Sprintf("%s/%d/stat", procDir, pid)] })
}

// PIDs returns the processes that the last statuses of containers and sandboxes name, in order.
func (w *Writer) PIDs() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[int]bool{}
	for _, pid := range w.pids {
		if pid > 0 {
			found[pid] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// pidOf returns the process that a status names, 0 if it names none.
func pidOf(l line) int {
	var status struct {
		Info map[string]string `json:"info"`
	}
	var info struct {
		PID int `json:"pid"`
	}
	isStatus := l.Call == "ContainerStatus" || l.Call == "PodSandboxStatus"
	if !isStatus || json.Unmarshal(l.Answer, &status) != nil || json.Unmarshal([]byte(status.Info["info"]), &info) != nil {
		return 0
	}
	return info.PID
}
