package node

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/admission"
	"github.com/podctl/podctl/internal/device"
	"github.com/podctl/podctl/internal/pod"
)

// assignDevices chooses the devices that the limits of a new pod's containers ask for,
// and returns why it has none: an *admission.Error, a *DevicesInUseError, or an error of
// the runtime. held are the pods that the runtime holds.
func (n *Node) assignDevices(ctx context.Context, p *v1.Pod, held []*pod.Pod) error {
	requests := device.Requests(p)
	annotated, invalid := device.Annotated(p)
	if len(requests) == 0 && len(annotated) == 0 && invalid == nil {
		return nil
	}
	runtime, err := n.rt.CDI(ctx)
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
	devices, err := device.Read(directories)
	if err != nil {
		n.log.Warn("devices are missing", "err", err)
	}
	inUse, ofOthers := n.devicesInUse(p, held)
	assignment, err := device.Assign(requests, devices, inUse)
	if err != nil {
		if _, never := device.Assign(requests, devices, nil); never != nil {
			return admission.TooFewDevices(never, directories)
		}
		_, without := device.Assign(requests, devices, ofOthers)
		return &DevicesInUseError{err: err, ours: without == nil}
	}
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	if e := n.pods.get(p.UID); e != nil {
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

// devicesInUse are the devices of all running pods but one: those of this node, and
// those of other podctl processes, as their sandboxes say. ofOthers are the latter.
func (n *Node) devicesInUse(but *v1.Pod, held []*pod.Pod) (inUse, ofOthers map[string]bool) {
	inUse, ofOthers = map[string]bool{}, map[string]bool{}
	n.pods.mu.Lock()
	own := map[types.UID]bool{but.UID: true}
	for uid, e := range n.pods.entries {
		own[uid] = true
		if uid != but.UID && e.hasWorker() && !n.pods.nothingRuns(e) {
			for _, d := range e.devices.Devices() {
				inUse[d] = true
			}
		}
	}
	n.pods.mu.Unlock()
	for _, p := range held {
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

// restoreDevices takes over what the sandbox of an adopted pod was created with.
func (n *Node) restoreDevices(p *v1.Pod, held []*pod.Pod) {
	var newest *pod.Sandbox
	for _, h := range held {
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
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	if e := n.pods.get(p.UID); e != nil {
		e.devices = device.Parse(newest.Devices)
	}
}

// Devices implements podsync.Host.
func (h syncHost) Devices(p *v1.Pod, container string) ([]string, error) {
	h.n.pods.mu.Lock()
	defer h.n.pods.mu.Unlock()
	var assigned device.Assignment
	if e := h.n.pods.get(p.UID); e != nil {
		assigned = e.devices
	}
	return device.Of(p, container, assigned)
}
