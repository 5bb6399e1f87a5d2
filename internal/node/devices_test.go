package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/node/lifecycle"
)

// withGPUs makes the world's runtime one that has the devices acme.com/gpu=0 and 1, or
// does not give devices.
func (w *world) withGPUs(enabled bool) {
	w.t.Helper()
	dir := filepath.Join(w.root, "cdi")
	spec := "cdiVersion: 0.6.0\nkind: acme.com/gpu\ndevices: [{name: '0', containerEdits: {env: [GPU=0]}}, {name: '1', containerEdits: {env: [GPU=1]}}]\n"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gpu.yaml"), []byte(spec), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.sim.Close()
	w.sim = sim.New(sim.Options{Record: true, Info: map[string]string{"config": fmt.Sprintf(`{"enableCDI": %t, "cdiSpecDirs": [%q]}`, enabled, dir)}})
}

// devicesOf are the devices of each container that was created, by name and in order.
func (w *world) devicesOf() map[string][]string {
	all := map[string][]string{}
	for _, call := range w.sim.Calls("CreateContainer") {
		cfg := call.Request.(*runtimeapi.CreateContainerRequest).Config
		var names []string
		for _, d := range cfg.CDIDevices {
			names = append(names, d.Name)
		}
		all[cfg.Metadata.Name] = names
	}
	return all
}

func devicePod(name, container, command string, more ...string) string {
	return strings.Replace(podYAML(name, command, more...), "name: c,", "name: "+container+", resources: {limits: {acme.com/gpu: 1}},", 1)
}

func TestDeviceIsExclusiveUntilPodEnds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.withGPUs(true)
		first, second := devicePod("first", "a", "sleep 3600"), devicePod("second", "b", "sleep 3600")
		p := w.podctl("a", first, second)
		p.until("first", "runs", Info.Ready)
		p.until("second", "runs", Info.Ready)
		if got := w.devicesOf(); !slices.Equal(got["a"], []string{"acme.com/gpu=0"}) || !slices.Equal(got["b"], []string{"acme.com/gpu=1"}) {
			t.Fatalf("devices %v", got)
		}

		third := devicePod("third", "c", "sleep 3600")
		p.want(first, second, third)
		i := p.until("third", "waiting", waits(lifecycle.DevicesInUse))
		const want = "devices in use: requested number of devices unavailable for acme.com/gpu. Requested: 1, Available: 0"
		if err := i.Rejected; err == nil || err.Error() != want {
			t.Errorf("third: %v", err)
		}
		p.want(first, second)
		time.Sleep(5 * time.Second)
		p.kill()

		// Another podctl sees what the sandboxes have.
		q := w.podctl("b", devicePod("fourth", "d", "sleep 3600"))
		q.until("fourth", "waiting", waits(lifecycle.DevicesInUse))
		q.drain()

		// One that adopts the pods knows their devices; what ends frees its own.
		r := w.podctl("a", first, second)
		r.until("first", "adopted", Info.Ready)
		r.want(first, devicePod("fifth", "e", "sleep 3600"))
		r.until("fifth", "running", Info.Ready)
		if got := w.devicesOf(); !slices.Equal(got["e"], []string{"acme.com/gpu=1"}) {
			t.Errorf("devices %v", got)
		}
		r.drain()
		w.empty()
	})
}

func TestPodWithTooManyDevicesIsRejected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.withGPUs(true)
		p := w.podctl("a", strings.Replace(devicePod("web", "c", "sleep 5"), "gpu: 1", "gpu: 3", 1))
		i := p.until("web", "rejected", Info.Ended)
		if i.Status.Phase != v1.PodFailed || i.Status.Reason != "UnexpectedAdmissionError" || i.Status.Message !=
			"Pod was rejected: Allocate failed due to requested number of devices unavailable for acme.com/gpu. Requested: 3, Available: 2, which is unexpected" {
			t.Errorf("status %+v", i.Status)
		}
		p.drain()
		w.empty()
	})
}

func TestPodWaitsForItsDevices(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.withGPUs(false)
		p := w.podctl("a", devicePod("web", "c", "sleep 5"))
		i := p.until("web", "rejected", Info.Ended)
		if i.Status.Reason != "CDINotSupported" || len(w.sim.Calls("CreateContainer")) != 0 {
			t.Errorf("status %+v", i.Status)
		}
		p.drain()
		w.empty()
	})
}

func TestAnnotatedDevicesReachEachContainer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.withGPUs(true)
		p := w.podctl("a", strings.Replace(podYAML("web", "sleep 3600"), "name: web", "name: web, annotations: {cdi.k8s.io/x: acme.com/gpu=all}", 1))
		p.until("web", "runs", Info.Ready)
		if got := w.devicesOf(); !slices.Equal(got["c"], []string{"acme.com/gpu=all"}) {
			t.Errorf("devices %v", got)
		}
		p.drain()
		w.empty()
	})
}

// A pod that waits for a device of another pod of its podctl has not ended; one that
// waits for a device of a foreign pod can do nothing.
func TestPodWithDevicesOfOtherPodctlHasEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.withGPUs(true)
		p := w.podctl("a", devicePod("first", "a", "sleep 3600"), devicePod("second", "b", "sleep 20", job), devicePod("third", "c", "sleep 3600"))
		if i := p.until("third", "waiting", waits(lifecycle.DevicesInUse)); i.Ended() {
			t.Error("third has ended, says its Info")
		}
		p.until("third", "runs", Info.Ready)
		q := w.podctl("b", devicePod("fourth", "d", "sleep 3600"))
		if i := q.until("fourth", "waiting", waits(lifecycle.DevicesInUse)); !i.Ended() {
			t.Error("fourth has not ended, says its Info")
		}
		q.drain()
		p.drain()
		w.empty()
	})
}
