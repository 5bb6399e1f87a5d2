package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/podsync"
)

// Runtime is the CRI client.
type Runtime = *cri.Client

// syncRuntime is the client in the form that podsync asks for.
type syncRuntime struct{ *cri.Client }

var _ podsync.Runtime = syncRuntime{}

func (r syncRuntime) ImageStatus(ctx context.Context, image string) (*podsync.Image, error) {
	i, err := r.Client.ImageStatus(ctx, image)
	if err != nil || i == nil {
		return nil, err
	}
	return &podsync.Image{ID: i.ID, UID: i.UID, Username: i.Username, Size: i.Size}, nil
}

func (r syncRuntime) Exec(ctx context.Context, id string, command []string, timeout time.Duration) (output []byte, exitCode int32, err error) {
	res, err := r.Client.ExecSync(ctx, id, command, timeout)
	return append(res.Stdout, res.Stderr...), res.ExitCode, err
}

// network remembers for a short while whether the runtime's network is ready.
type network struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// networkPeriod is how long an answer of the runtime about its network
// counts; a bad one only until the next sync asks.
const networkPeriod = 5 * time.Second

// networkReady is nil while pods can be given a network.
func (n *Node) networkReady() error {
	n.network.mu.Lock()
	defer n.network.mu.Unlock()
	if n.network.err == nil && time.Since(n.network.at) < networkPeriod {
		return nil
	}
	status, err := n.rt.Status(context.Background())
	n.network.at = time.Now()
	switch {
	case err != nil:
		n.network.err = err
	case !status.Network.OK:
		n.network.err = errors.New(status.Network.Message)
	default:
		n.network.err = nil
	}
	return n.network.err
}

// has tells whether the node has to do with the pod.
func (n *Node) has(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.entryOf(uid) != nil
}
