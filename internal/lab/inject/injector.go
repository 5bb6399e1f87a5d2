package inject

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"path"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
)

// Options are what New needs.
type Options struct {
	Now func() time.Time
	// Names say what a call is about.
	Names *trace.Names
	// Fired is told about each rule that fires, under the lock of the rules; nil if it is not wanted.
	Fired func(*rules.Firing, rules.Call)
}

// Injector applies rules to calls. It is safe for concurrent use.
type Injector struct {
	options Options
	stale   staleAnswers

	mu      sync.Mutex // guards the fields below
	rules   *rules.Set
	changed chan struct{} // closed when the rules change
}

// New returns an injector of a set of rules, which it owns from then on.
func New(o Options, set *rules.Set) *Injector {
	return &Injector{options: o, rules: set, changed: make(chan struct{})}
}

// Rules returns the rules with their counts.
func (i *Injector) Rules() []rules.Counted {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := []rules.Counted{}
	for _, r := range i.rules.Rules {
		all = append(all, *r)
	}
	return all
}

// Change changes the rules, for calls that begin and messages that come from now on, and for
// calls that hang.
func (i *Injector) Change(c rules.Change) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	defer i.wake()
	return i.rules.Apply(c)
}

// Follow replaces the rules of the file that is followed: see rules.Set.
func (i *Injector) Follow(all []rules.Rule) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	defer i.wake()
	return i.rules.Follow(all)
}

// Add adds rules. remove, which may be called again, removes them.
func (i *Injector) Add(all ...rules.Rule) (remove func(), err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.rules.Apply(rules.Change{Add: all}); err != nil {
		return nil, err
	}
	var added []int
	for _, r := range i.rules.Rules[len(i.rules.Rules)-len(all):] {
		added = append(added, r.Number)
	}
	return func() { _ = i.Change(rules.Change{Remove: added}) }, nil
}

// wake makes calls that hang check whether their rule still exists. i.mu is held.
func (i *Injector) wake() {
	close(i.changed)
	i.changed = make(chan struct{})
}

// decide returns the rules that fire for a call, and reports each to Options.Fired.
func (i *Injector) decide(c rules.Call) []*rules.Firing {
	i.mu.Lock()
	defer i.mu.Unlock()
	fired := i.rules.Decide(c)
	if i.options.Fired != nil {
		for _, f := range fired {
			i.options.Fired(f, c)
		}
	}
	return fired
}

// callOf returns a call for rules to match. request is nil for a stream whose request has not
// come.
func (i *Injector) callOf(ctx context.Context, full string, request proto.Message) rules.Call {
	m, known := trace.CRIMethods()[full]
	return rules.Call{
		Method: path.Base(full), Caller: peerOf(ctx).caller, Target: i.options.Names.Target(request, nil), Stream: m.Stream,
		List: known && rules.ListField(m.Response.Zero().Interface()) != "",
	}
}

// applyBefore applies what comes before the handler, or before the next message of a stream: it
// delays the call or ends it. The error is the end of the call, io.EOF the regular one of a stream.
func (i *Injector) applyBefore(ctx context.Context, c rules.Call, fired []*rules.Firing) error {
	for _, f := range fired {
		if err := Wait(ctx, f.Delay); err != nil {
			return err
		}
		if f.Lost != codes.OK && !c.Stream {
			continue
		}
		if err := i.endCall(ctx, f, f.Error); err != nil {
			return err
		}
		if f.End && c.Stream {
			return io.EOF
		}
	}
	return nil
}

// endCall ends a call as a rule says, with a code, OK for none; without a message the error names
// the rule. It returns nil if the rule does not end the call, or is removed meanwhile.
func (i *Injector) endCall(ctx context.Context, f *rules.Firing, code codes.Code) error {
	if f.Hang {
		return i.hang(ctx, f)
	}
	if f.Close {
		if conn := peerOf(ctx).conn; conn != nil {
			_ = conn.Close()
		}
		if code == codes.OK {
			code = codes.Unavailable
		}
	}
	return status.Error(code, cmp.Or(f.Message, fmt.Sprintf("rule %d of podctl", f.Number)))
}

// hang waits until the rule is removed, or the caller gives up, which is an error.
func (i *Injector) hang(ctx context.Context, f *rules.Firing) error {
	for {
		i.mu.Lock()
		there := slices.ContainsFunc(i.rules.Rules, func(r *rules.Counted) bool { return r.Number == f.Number })
		changed := i.changed
		i.mu.Unlock()
		if !there {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// edit returns a copy of an answer that the rules have changed.
func (i *Injector) edit(answer any, fired []*rules.Firing) (any, error) {
	message, ok := answer.(proto.Message)
	if !ok || len(fired) == 0 {
		return answer, nil
	}
	message = proto.Clone(message.ProtoReflect().Interface())
	for _, f := range fired {
		if err := f.Edit(message, i.options.Names); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return message, nil
}

// Wait waits for d. If ctx ends first, it returns the gRPC status of that: Canceled or
// DeadlineExceeded.
func Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// Credentials returns the transport credentials that a server needs to name the caller of a firing,
// and for rules that close its connection. They neither authenticate nor encrypt. callerOf identifies the peer of
// a connection.
func Credentials(callerOf func(net.Conn) relay.Caller) credentials.TransportCredentials {
	return peerCredentials{insecure.NewCredentials(), callerOf}
}

type peerCredentials struct {
	credentials.TransportCredentials
	callerOf func(net.Conn) relay.Caller
}

// peer is the peer of a connection. The zero value is an unknown one.
type peer struct {
	caller relay.Caller
	conn   net.Conn
}

// peerOf returns the caller of a call.
func peerOf(ctx context.Context) peer {
	if from, ok := grpcpeer.FromContext(ctx); ok {
		if p, ok := from.AuthInfo.(peer); ok {
			return p
		}
	}
	return peer{}
}

// AuthType implements credentials.AuthInfo.
func (peer) AuthType() string { return "unix" }

// ServerHandshake exchanges nothing.
func (p peerCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, peer{p.callerOf(conn), conn}, nil
}

// Clone implements credentials.TransportCredentials.
func (p peerCredentials) Clone() credentials.TransportCredentials { return p }
