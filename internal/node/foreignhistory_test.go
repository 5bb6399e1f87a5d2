package node

import (
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// foreignCommands are what the containers of foreign pods run.
var foreignCommands = []string{"sleep 7200", "exit 0", "sleep 3; exit 1"}

// addForeign creates a foreign pod.
func (h *history) addForeign(args []string) {
	asked := h.desire(args[2:3])[0]
	f := &foreignPod{
		w: h.world, kind: foreignKinds[h.number(args[0])], name: args[1], uid: asked.UID(),
		attempt: uint32(h.number(args[3])), command: foreignCommands[h.number(args[4])],
	}
	err := f.create()
	h.say("foreign pod %s uid %.8s attempt %d, %s: %v", f.name, f.uid, f.attempt, f.kind, err)
	if err == nil {
		h.foreignPods = append(h.foreignPods, f)
	} else if f.sandbox != "" {
		f.remove()
	}
}

// removeForeign removes a foreign pod, if there is one.
func (h *history) removeForeign(n int) {
	if len(h.foreignPods) == 0 {
		return
	}
	i := n % len(h.foreignPods)
	h.foreignPods[i].leave()
	h.foreignPods = slices.Delete(h.foreignPods, i, i+1)
}

// removeAllForeign removes all foreign pods.
func (h *history) removeAllForeign() {
	for len(h.foreignPods) > 0 {
		h.removeForeign(0)
	}
}

// leave removes the pod as its creator does. It is a violation if its sandbox, container or log is
// missing by then.
func (f *foreignPod) leave() {
	if _, err := f.w.sim.PodSandboxStatus(f.w.t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: f.sandbox}); err != nil {
		violate(f.w.t, foreignUntouched, "sandbox of %s: %v", f.name, err)
	}
	if _, err := f.w.sim.ContainerStatus(f.w.t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: f.container}); err != nil {
		violate(f.w.t, foreignUntouched, "container of %s: %v", f.name, err)
	}
	if _, err := os.Stat(f.logFile()); err != nil {
		violate(f.w.t, foreignUntouched, "log of %s: %v", f.name, err)
	}
	f.remove()
}

// ask notes that pods are asked for.
func (j *judge) ask(pods []Desired) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, d := range pods {
		if j.asked[d.UID()].IsZero() {
			j.asked[d.UID()] = time.Now()
		}
	}
}

// checkWaited looks, when the first sandbox of a pod is ready, for a foreign pod of its name that ran when the
// pod was asked for, and runs.
func (j *judge) checkWaited(s *runtimeapi.PodSandbox) {
	uid := types.UID(s.Metadata.Uid)
	j.mu.Lock()
	asked, ran := j.asked[uid], j.ran[uid]
	j.ran[uid] = true
	j.mu.Unlock()
	if ran {
		return
	}
	j.w.foreignIDs.Range(func(id, f any) bool {
		if f := f.(*foreignPod); f.name == s.Metadata.Name && f.container == id && f.came.Add(oldestList).Before(asked) && f.runs() {
			violate(j.t, nameIsFree, "%s starts beside the foreign pod of its name", describe(s))
		}
		return true
	})
}

// oldestList is more than the age of a list that is out of date.
const oldestList = 6 * time.Second
