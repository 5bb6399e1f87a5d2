package node

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/lab/rules"
)

// galleryRules returns the rules of each file of examples/faults, by its name without extension.
var galleryRules = sync.OnceValue(func() map[string][]rules.Rule {
	files, err := filepath.Glob("../../examples/faults/*.yaml")
	if err != nil || len(files) == 0 {
		panic("examples/faults has no rules")
	}
	all := map[string][]rules.Rule{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if all[name], err = rules.ParseFile(file, data); err != nil {
			panic(err)
		}
	}
	return all
})

// Seeds draw the files of the gallery; here each is played for sure, and its rules fire.
func TestGalleryRules(t *testing.T) {
	p := newPlayer(t)
	for _, name := range galleryNames() {
		t.Run(name, func(t *testing.T) {
			out := p.mustHold(t, []string{
				"want web/0 job/1 conf/0", "wait 20s", "rule " + name, "crash", "recover",
				"want web/1 job/0 conf/1 fixed/2", "wait 20s", "stop web", "start web", "wait 90s",
			})
			for _, r := range galleryRules()[name] {
				if !slices.ContainsFunc(out.Log, func(line string) bool {
					return strings.Contains(line, r.Source+" fired ") && !strings.HasSuffix(line, " fired 0 times")
				}) && !strings.HasPrefix(r.Method, "Stream") { // which the runtime's lists are too short for
					t.Errorf("%s did not fire:\n%s", r.Source, indent(out.Log))
				}
			}
		})
	}
}

// galleryNames are the names of galleryRules, sorted.
func galleryNames() []string { return slices.Sorted(maps.Keys(galleryRules())) }

// shortFill is how many entries the rules fill a list with at most, unless they are played whole.
const shortFill = 50

// rule has calls fail by the rules of a file of the gallery until calm.
func (h *history) rule(name string, whole bool) {
	all, ok := galleryRules()[name]
	if !ok {
		h.t.Fatalf("the gallery has no rules %q", name)
	}
	all = slices.Clone(all)
	for i := range all {
		if !whole {
			all[i].Fill = min(all[i].Fill, shortFill)
		}
	}
	remove := h.sim.InjectRules(all...)
	switch name {
	case "unknown":
		h.judge.setUnknown(true)
		h.onCalm(func() { h.judge.setUnknown(false) })
	case "oom-exit-0":
		h.toldSuccess = true
	}
	h.onCalm(func() {
		for _, r := range h.sim.Faults.Rules() {
			h.say("%s fired %d times", r.Source, r.Fired)
		}
		remove()
	})
}

// setUnknown sets whether the runtime reports running containers as unknown.
func (j *judge) setUnknown(unknown bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unknownUntil = time.Now().Add(staleActionTime); unknown {
		j.unknownUntil = time.Now().Add(1000 * time.Hour)
	}
}

// staleActionTime is how long podctl may act by a state that the runtime does not report any more:
// until the next relist, in an operation that began before.
const staleActionTime = time.Minute

// mayBeTakenForUnknown reports whether podctl may take a running container for unknown. Like the
// kubelet (ShouldContainerBeRestarted in pkg/kubelet/container/helpers.go), it then stops the container
// with its grace period and starts it again, whatever the restart policy. Like the kubelet, it stops
// the sandbox of such a pod without stopping the container first (ConvertPodStatusToRunningPod, in the
// same file, has running containers only). The pod shows no reason, because an unknown container has
// none.
func (j *judge) mayBeTakenForUnknown() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Now().Before(j.unknownUntil)
}
