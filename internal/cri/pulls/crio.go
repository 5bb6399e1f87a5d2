package pulls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// storageDirs begin the names of the directories to which CRI-O writes the layers of a
// pull, one for each pull, until it unpacks them. Their files are 1, 2, 3 …
const storageDirs = "container_images_storage"

// crioPulls returns the pulls of a CRI-O, not nil, the oldest first, by the directories that
// it writes to: the bytes are known, as of one layer, neither the image nor the total.
func crioPulls(procs proc.FS, pid int, now time.Time) []Pull {
	var dirs []string
	for _, f := range procs.FilesNamed(pid, isNumber) {
		if dir := filepath.Dir(f.Path); strings.HasPrefix(filepath.Base(dir), storageDirs) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	all := []Pull{}
	for _, dir := range dirs {
		if p, ok := pullInto(filepath.Join(procs.Root(pid), dir)); ok {
			p.At = now
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Pull) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Done(), b.Done())) })
	return all
}

func isNumber(name string) bool {
	return name != "" && strings.Trim(name, "0123456789") == ""
}

// pullInto returns the pull that writes to a directory, false if it has ended.
func pullInto(dir string) (Pull, bool) {
	d, err := os.Open(dir)
	if err != nil {
		return Pull{}, false
	}
	defer func() { _ = d.Close() }()
	all := Layer{Started: born(d)}
	names, _ := d.Readdirnames(maxLayers) // none at the end of the pull
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			all.Done = add(all.Done, info.Size())
			if info.ModTime().After(all.Updated) {
				all.Updated = info.ModTime()
			}
		}
	}
	return Pull{Since: all.Started, Layers: []Layer{all}}, true
}

// maxOthers bounds how many containers of containerd are read.
const maxOthers = 65536

// ImageClient has the connection on which containerd serves its own API beside the CRI's.
type ImageClient interface {
	ImageConn() grpc.ClientConnInterface
}

// OtherContainers returns the containers in containerd's namespace of the CRI that are not listed: those
// of nerdctl -n k8s.io run and ctr, and what the CRI has forgotten. Another runtime has none.
func OtherContainers(ctx context.Context, client ImageClient, listed map[string]bool) (found []*pod.Container, err error) {
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "containerd-namespace", "k8s.io"))
	defer cancel()
	stream, err := containersapi.NewContainersClient(client.ImageConn()).ListStream(ctx, &containersapi.ListContainersRequest{})
	for n := 0; err == nil; n++ {
		var m *containersapi.ListContainerMessage
		if m, err = stream.Recv(); err != nil {
			break
		}
		if n == maxOthers {
			return nil, fmt.Errorf("containerd has more than %d containers", maxOthers)
		}
		if c := m.GetContainer(); !listed[c.GetID()] {
			found = append(found, &pod.Container{ID: c.GetID(), Name: c.GetID(), Image: c.GetImage()})
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, cri.ErrUnsupported) {
		return found, nil
	}
	return nil, fmt.Errorf("list the containers of containerd's other clients: %w", err)
}
