package volume

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/podctl/podctl/internal/pod"
)

// setUpHugePages mounts a hugetlbfs on a directory, unless there is one
// already (setupHugepages in pkg/volume/emptydir/empty_dir.go). hugetlbfs has no option for the
// setgid bit, so the group gets it afterwards.
func setUpHugePages(ctx context.Context, r request) error {
	medium := r.volume.EmptyDir.Medium
	if err := makeOpen(r.path); err != nil {
		return err
	}
	kind, err := mountedAt(r.path)
	switch {
	case err != nil:
		return err
	case kind == hugeTLBType:
		err = hasPageSize(r.path, medium)
	case kind != "":
		err = fmt.Errorf("%s: a file system of type %s is mounted there", r.path, kind)
	default:
		var size resource.Quantity
		if size, err = pageSize(r.pod, medium); err == nil {
			err = mountOn(r.path, hugeTLBType, []string{"pagesize=" + size.String()})
		}
	}
	if err != nil {
		return err
	}
	return giveTo(ctx, r.path, fsGroup(r.pod), readWrite)
}

func isHugePages(m v1.StorageMedium) bool {
	return m == v1.StorageMediumHugePages || strings.HasPrefix(string(m), string(v1.StorageMediumHugePagesPrefix))
}

// mediumSize returns the page size that the medium names.
func mediumSize(m v1.StorageMedium) (resource.Quantity, error) {
	return resource.ParseQuantity(strings.TrimPrefix(string(m), string(v1.StorageMediumHugePagesPrefix)))
}

func hasPageSize(path string, medium v1.StorageMedium) error {
	if medium == v1.StorageMediumHugePages {
		return nil
	}
	want, err := mediumSize(medium)
	if err != nil {
		return err
	}
	got, err := pageSizeAt(path)
	if err == nil && got != want.Value() {
		mounted := resource.NewQuantity(got, resource.BinarySI)
		err = fmt.Errorf("mounted dir %s pagesize '%s' and requested medium size '%s' differ", path, mounted, want.String())
	}
	return err
}

// pageSize returns the size of pages that the pod requests, for the medium
// (getPageSizeMountOption in pkg/volume/emptydir/empty_dir.go).
func pageSize(p *v1.Pod, medium v1.StorageMedium) (resource.Quantity, error) {
	var wanted, found resource.Quantity
	if medium != v1.StorageMediumHugePages {
		var err error
		if wanted, err = mediumSize(medium); err != nil {
			return found, err
		}
	}
	for _, list := range requests(p) {
		for name := range list {
			text, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
			if !ok {
				continue
			}
			size, err := resource.ParseQuantity(text)
			switch {
			case err != nil:
				return found, err
			case !wanted.IsZero() && size.Cmp(wanted) != 0:
				continue
			case !found.IsZero() && size.Cmp(found) != 0:
				return found, fmt.Errorf("medium: %s can't be used if container requests multiple huge page sizes", medium)
			}
			found = size
		}
	}
	if found.IsZero() {
		return found, fmt.Errorf("medium %s: hugePages storage requested, but there is no resource request for huge pages", medium)
	}
	return found, nil
}

// requests returns all requests of the pod and its containers.
func requests(p *v1.Pod) []v1.ResourceList {
	var all []v1.ResourceList
	if resourcehelper.IsPodLevelResourcesSet(p) {
		all = append(all, p.Spec.Resources.Requests)
	}
	for c := range pod.Containers(p) {
		all = append(all, c.Resources.Requests)
	}
	return all
}
