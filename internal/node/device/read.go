package device

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"tags.cncf.io/container-device-interface/pkg/cdi"
)

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
