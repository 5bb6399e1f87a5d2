package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tags.cncf.io/container-device-interface/pkg/cdi"
)

// Assignment is the devices of each container that has some of its own, VENDOR/CLASS=NAME.
// No two running pods have one device.
type Assignment map[string][]string

// everything is the name of a device that stands for all devices of its kind, by
// custom; it is never assigned to one pod.
const everything = "all"

// Assign chooses devices for the requests of a pod among those that are there and not
// in use, by name. Containers that end before another one starts pass their devices on
// to it (devicesToAllocate in pkg/kubelet/cm/devicemanager/manager.go). The error
// has the text of the kubelet's device manager.
func Assign(requests []Request, devices []string, inUse map[string]bool) (Assignment, error) {
	taken := maps.Clone(inUse)
	if taken == nil {
		taken = map[string]bool{}
	}
	passed := map[string]bool{}
	a := Assignment{}
	for _, r := range requests {
		var own, free []string
		for _, d := range devices {
			kind, name, _ := strings.Cut(d, "=")
			if kind != r.Kind {
				continue
			}
			switch {
			case name == everything:
			case passed[d]:
				own = append(own, d)
			case !taken[d]:
				free = append(free, d)
			}
		}
		own = own[:min(len(own), r.Count)]
		missing := r.Count - len(own)
		if missing > len(free) {
			return nil, fmt.Errorf("requested number of devices unavailable for %s. Requested: %d, Available: %d", r.Kind, missing, len(free))
		}
		own = append(own, free[:missing]...)
		for _, d := range own {
			taken[d], passed[d] = true, r.Passes
		}
		a[r.Container] = append(a[r.Container], own...)
	}
	return a, nil
}

// Devices returns all that are assigned.
func (a Assignment) Devices() []string {
	var all []string
	for _, some := range a {
		all = append(all, some...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// String returns the form of an annotation; Parse reads it.
func (a Assignment) String() string {
	text, _ := json.Marshal(a) // strings always have a form
	return string(text)
}

// Parse parses an assignment. A text of another form is nil.
func Parse(text string) Assignment {
	var a Assignment
	if json.Unmarshal([]byte(text), &a) != nil {
		return nil
	}
	return a
}

// Directories are where specifications are by default: what programs write at run time
// comes last and wins.
var Directories = []string{cdi.DefaultStaticDir, cdi.DefaultDynamicDir}

// Read returns the devices of all specifications in the directories, sorted; a
// directory that does not exist has none. The error joins what is wrong with single
// files, whose devices are missing.
func Read(directories []string) ([]string, error) {
	cache, err := cdi.NewCache(cdi.WithAutoRefresh(false), cdi.WithSpecDirs(directories...))
	if err != nil {
		return nil, fmt.Errorf("read CDI specifications: %w", err)
	}
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(cache.GetErrors())) {
		for _, err := range cache.GetErrors()[path] {
			errs = append(errs, fmt.Errorf("read CDI specification %s: %w", path, err))
		}
	}
	return cache.ListDevices(), errors.Join(errs...)
}
