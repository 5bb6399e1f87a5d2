package main

import (
	"context"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/daemon"
	"github.com/podctl/podctl/internal/host"
)

// connect finds the runtime and connects to it. The function that it returns
// closes the connection and is never nil.
func connect(ctx context.Context, e *env, g globals) (*cri.Client, func(), error) {
	return connectWatched(ctx, e, g, nil, nil)
}

// connectWatched connects; the watcher is called for every call while it is in
// flight, the observer once it has ended.
func connectWatched(ctx context.Context, e *env, g globals, watcher cri.CallWatcher, observer cri.Observer) (*cri.Client, func(), error) {
	o := g.connectOptions(e)
	o.Watcher, o.Observer = watcher, observer
	return daemon.Connect(ctx, o)
}

func (g globals) connectOptions(e *env) daemon.ConnectOptions {
	return daemon.ConnectOptions{Runtime: g.runtime, Image: g.image, Timeout: g.timeout, Simulate: e.simulate, Log: e.log}
}

// given are the directories that the user gave.
func (g globals) given() host.Paths { return host.Paths{Root: g.root, Logs: g.logDir, Locks: g.runDir} }

// paths are podctl's directories on a runtime.
func (g globals) paths(endpoint cri.Endpoint) (host.Paths, error) {
	p, err := host.DefaultPaths.With(g.given())
	return p.ForRuntime(endpoint.Runtime), err
}
