package view

import (
	"context"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/cri/logs"
)

// Finish assembles the pod, and reads what depends on its containers.
func (r *Reader) Finish(ctx context.Context, s *Sources) *Pod {
	s.Owner, s.noStatus = ownerOf(s.Pod), s.From == FromSandbox
	s.assemble()
	s.Server = r.Server
	r.readProcesses(ctx, s.Pod)
	r.readTakenPorts(s.Pod)
	r.readKernelLog(s)
	r.readLogs(s)
	r.readImages(ctx, s.Pod)
	slices.SortFunc(s.Unread, func(a, b Unread) int { return strings.Compare(a.Layer, b.Layer) })
	return s.Pod
}

// readKernelLog reads the kernel's log if a container may have been killed for lack of memory, or if it is
// asked for what the containers were denied.
func (r *Reader) readKernelLog(p *Sources) {
	denials := r.Denials && !r.Recorded && r.KernelLog != nil
	if !denials && !slices.ContainsFunc(p.Containers, func(c Container) bool {
		return slices.ContainsFunc(c.Ends(), func(e *End) bool { return e.ID != "" && e.MayBeOOM() })
	}) {
		return
	}
	var err error
	p.KernelLog, err = r.KernelLog()
	if p.notRead("kernel log", err); denials {
		r.addDenied(p)
	}
}

// readLogs adds the last lines of the containers that failed.
func (r *Reader) readLogs(p *Sources) {
	for i := range p.Containers {
		ct := &p.Containers[i]
		if ct.Failure() == nil || ct.LogPath == "" || r.LogLines == 0 {
			continue
		}
		var lines []logs.Line
		err := ErrNotRecorded
		if !r.Recorded {
			lines, err = logs.Collect(ct.LogPath, logs.Options{Tail: int64(r.LogLines)})
		}
		p.notRead("log of "+ct.Name, err)
		for _, l := range lines {
			ct.LogLines = append(ct.LogLines, string(l.Text[:min(len(l.Text), maxLogLine)]))
		}
	}
}

// readImages asks for the images of containers that wait: the pull of one that the runtime has fails
// because of a tag or pull policy, and another pull does not help.
func (r *Reader) readImages(ctx context.Context, p *Pod) {
	p.HasImage = map[string]bool{}
	if r.Runtime == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, layerTimeout)
	defer cancel()
	for i := range p.Containers {
		c := &p.Containers[i]
		if _, known := p.HasImage[c.Image]; known || c.Image == "" || !c.WaitsForImage() && (c.ID != "" || p.ReadySandbox() == nil) {
			continue
		}
		if image, err := r.Runtime.ImageStatus(ctx, c.Image); err == nil {
			p.HasImage[c.Image] = image != nil
		}
	}
}
