package daemon

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/node/userns"
)

// machine is the machine of a session as its node needs it.
type machine struct {
	session *Session
	// logs is the directory of container logs.
	logs    string
	userIDs *userns.Ranges
}

var _ node.Host = machine{}

// Resolver implements node.Host.
func (m machine) Resolver() (render.DNS, error) {
	dns, err := m.session.opts.Resolver.Read(m.session.Facts.IPs)
	dns.Cluster = m.session.services.DNS()
	return dns, err
}

// UserIDs implements node.Host.
func (m machine) UserIDs(ctx context.Context, uid types.UID) (first, length uint32, err error) {
	return m.userIDs.Of(ctx, uid)
}

// FreeLogSpace implements node.Host.
func (m machine) FreeLogSpace() (uint64, error) { return freeSpace(m.logs) }

// HasDedicatedImageFs implements node.Host (HasDedicatedImageFs in
// pkg/kubelet/stats/provider.go).
func (m machine) HasDedicatedImageFs(ctx context.Context) (bool, error) {
	dir, err := m.session.Client.ImageFilesystem(ctx)
	if err != nil || dir == "" {
		return false, err
	}
	return onDifferentFileSystems(dir, m.session.Facts.PodsDir)
}

// RunDirRestored implements node.Host: the control socket was in the run directory.
func (m machine) RunDirRestored() { m.session.control.reopen() }
