package daemon

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/podctl/podctl/internal/cri"
)

// ConnectOptions say which runtime to connect to.
type ConnectOptions struct {
	// Runtime and Image are endpoints, "" for those that crictl would find.
	Runtime, Image string
	// Timeout bounds runtime calls that only read, 0 for crictl's setting or the default.
	Timeout time.Duration
	// Simulate starts the runtime that "sim:" stands for, and returns what connects to it and what
	// closes it.
	Simulate func() (dial func(context.Context) (net.Conn, error), stop func())
	// Dial connects to a runtime that this process serves, instead of to the endpoint's sockets;
	// nil where it serves none.
	Dial func(context.Context) (net.Conn, error)
	// SimOutlives: that runtime outlives this process, as a real one does.
	SimOutlives bool
	// Watcher and Observer are those of cri.Options.
	Watcher  cri.CallWatcher
	Observer cri.Observer
	// OnLargeList is that of cri.Options.
	OnLargeList func(error)
	Log         *slog.Logger
}

// Connect finds the runtime and connects to it. The function that it returns
// closes the connection and is never nil.
func Connect(ctx context.Context, o ConnectOptions) (*cri.Client, func(), error) {
	none := func() {}
	endpoint, err := cri.Discover(ctx, cri.DiscoverOptions{Runtime: o.Runtime, Image: o.Image, Timeout: o.Timeout})
	if err != nil {
		return nil, none, err
	}
	options := cri.Options{Endpoint: endpoint, Log: o.Log, Watcher: o.Watcher, Observer: o.Observer, OnLargeList: o.OnLargeList, Dial: o.Dial}
	stop := none
	if endpoint.Runtime == cri.SimEndpoint {
		options.Dial, stop = o.Simulate()
	}
	client, err := cri.Connect(ctx, options)
	if err != nil {
		stop()
		return nil, none, err
	}
	return client, func() { client.Close(); stop() }, nil
}
