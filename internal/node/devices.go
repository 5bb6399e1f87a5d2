package node

import (
	"context"
	"fmt"
	"log/slog"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/device"
	"github.com/podctl/podctl/internal/pod"
)

// devices assigns devices to the containers of pods.
type devices struct {
	pods *podTable
	rt   Runtime
	log  *slog.Logger
}

// assign chooses the devices that the limits of a new pod's containers ask for,
// and returns why it has none: an *admission.Error, a *DevicesInUseError, or an error of
// the runtime. listed are the pods that the runtime holds.
func (a *devices) assign(ctx context.Context, p *v1.Pod, listed []*pod.Pod) error {
	requests := device.Requests(p)
	annotated, invalid := device.Annotated(p)
	if len(requests) == 0 && len(annotated) == 0 && invalid == nil {
		return nil
	}
	runtime, err := a.rt.CDI(ctx)
	if err != nil {
		return fmt.Errorf("ask the runtime about devices: %w", err)
	}
	if runtime.Refused != "" {
		return admission.NoDevices(runtime.Refused)
	}
	if invalid != nil {
		return admission.NoDevices(invalid.Error())
	}
	if len(requests) == 0 {
		return nil
	}
	directories := runtime.Directories
	if directories == nil {
		directories = device.Directories
	}
	present, err := device.Read(directories)
	if err != nil {
		a.log.Warn("devices are missing", "err", err)
	}
	inUse, ofOthers := a.inUse(p, listed)
	assignment, err := device.Assign(requests, present, inUse)
	if err != nil {
		if _, never := device.Assign(requests, present, nil); never != nil {
			return admission.TooFewDevices(never, directories)
		}
		_, without := device.Assign(requests, present, ofOthers)
		return &DevicesInUseError{err: err, ours: without == nil}
	}
	a.pods.mu.Lock()
	defer a.pods.mu.Unlock()
	if e := a.pods.get(p.UID); e != nil {
		e.devices = assignment
	}
	return nil
}

// DevicesInUseError says that other pods have the devices that a pod asks for.
type DevicesInUseError struct {
	err error
	// ours: it would have them without the other pods of this podctl process.
	ours bool
}

func (e *DevicesInUseError) Error() string { return "devices in use: " + e.err.Error() }

func (e *DevicesInUseError) Unwrap() error { return e.err }

// Hint says how to resolve it.
func (*DevicesInUseError) Hint() string {
	return "stop another pod; the pod starts once the devices are free"
}

// inUse returns the devices of all running pods but one: those of this node, and
// those of other podctl processes, as their sandboxes say. ofOthers are the latter.
func (a *devices) inUse(but *v1.Pod, listed []*pod.Pod) (inUse, ofOthers map[string]bool) {
	inUse, ofOthers = map[string]bool{}, map[string]bool{}
	a.pods.mu.Lock()
	own := map[types.UID]bool{but.UID: true}
	for uid, e := range a.pods.entries {
		own[uid] = true
		if uid != but.UID && e.hasWorker() && !a.pods.nothingRuns(e) {
			for _, d := range e.devices.Devices() {
				inUse[d] = true
			}
		}
	}
	a.pods.mu.Unlock()
	for _, p := range listed {
		if own[p.UID] {
			continue
		}
		for _, s := range p.Sandboxes {
			if s.State == pod.Running {
				for _, d := range device.Parse(s.Devices).Devices() {
					inUse[d], ofOthers[d] = true, true
				}
			}
		}
	}
	return inUse, ofOthers
}

// restore assigns an adopted pod the devices that its sandbox was created with.
func (a *devices) restore(p *v1.Pod, listed []*pod.Pod) {
	var newest *pod.Sandbox
	for _, h := range listed {
		if h.UID != p.UID {
			continue
		}
		for _, s := range h.Sandboxes {
			if s.Devices != "" && (newest == nil || s.Attempt > newest.Attempt) {
				newest = s
			}
		}
	}
	if newest == nil {
		return
	}
	a.pods.mu.Lock()
	defer a.pods.mu.Unlock()
	if e := a.pods.get(p.UID); e != nil {
		e.devices = device.Parse(newest.Devices)
	}
}

// of returns the devices of a container of the pod.
func (a *devices) of(p *v1.Pod, container string) ([]string, error) {
	a.pods.mu.Lock()
	defer a.pods.mu.Unlock()
	var assigned device.Assignment
	if e := a.pods.get(p.UID); e != nil {
		assigned = e.devices
	}
	return device.Of(p, container, assigned)
}
