package sim

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ExecSync runs a command beside the container's process.
func (r *Runtime) ExecSync(ctx context.Context, req *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	r.mu.Lock()
	c := r.container(req.ContainerId)
	if c == nil {
		r.mu.Unlock()
		return nil, errorf(codes.NotFound, "failed to exec in container: failed to find container %q in store: not found", req.ContainerId)
	}
	state, script := c.state, r.scriptFor(c)
	r.mu.Unlock()
	if state != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return nil, errorf(codes.Unknown, "failed to exec in container: container is in %s state", state)
	}
	timeout := time.Duration(req.Timeout) * time.Second
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	reply := script.exec(ctx, c.process, req.Cmd)
	switch {
	case reply.Err != nil:
		return nil, reply.Err
	case ctx.Err() != nil:
		return nil, errorf(status.FromContextError(ctx.Err()).Code(), "failed to exec in container: timeout %s exceeded: %v", timeout, ctx.Err())
	}
	return &runtimeapi.ExecSyncResponse{
		Stdout: []byte(reply.Stdout), Stderr: []byte(reply.Stderr), ExitCode: int32(reply.ExitCode),
	}, nil
}

// outputLimit is how much of each output ExecSync returns, in bytes.
const outputLimit = 1 << 20

// exec runs one command until it, ctx or the container ends, and returns what it wrote.
func (s Script) exec(ctx context.Context, p *process, cmd []string) ExecReply {
	var stdout, stderr bytes.Buffer
	write := func(b *bytes.Buffer) func(string) {
		return func(text string) { b.WriteString(text[:min(len(text), outputLimit-b.Len())]) }
	}
	reply := s.execTo(ctx, p, cmd, "", nil, write(&stdout), write(&stderr))
	reply.Stdout, reply.Stderr = stdout.String(), stderr.String()
	return reply
}

// execTo is like exec but reads in, which may be nil, and calls out and errw with output as
// it is written. A shell that reads its commands shows a prompt.
func (s Script) execTo(ctx context.Context, p *process, cmd []string, prompt string, in io.Reader, out, errw func(string)) ExecReply {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	if s.Exec != nil {
		reply := s.Exec(cmd)
		pause(ctx, reply.Takes)
		if p.ctx.Err() != nil {
			reply.ExitCode = exitKilled
		}
		out(reply.Stdout)
		errw(reply.Stderr)
		return reply
	}
	script, err := parseCommand(cmd)
	switch {
	case err != nil:
		errw(notParsed(err))
		return ExecReply{ExitCode: statusSyntax}
	case script == nil && !isShell(cmd):
		return ExecReply{} // whatever it is, it works
	}
	var background jobs
	sh := newShell(ctx, p, &background)
	sh.exec, sh.in = true, in
	var mu sync.Mutex // of what the background writes, too
	locked := func(write func(string)) func(string) {
		return func(text string) {
			mu.Lock()
			defer mu.Unlock()
			write(text)
		}
	}
	sh.out, sh.err = locked(out), locked(errw)
	if script == nil {
		sh.readCommands(prompt)
	} else {
		sh.run(script.Stmts)
	}
	cancel() // what it left in the background ends with it
	background.Wait()
	if p.ctx.Err() != nil {
		sh.status = exitKilled
	}
	return ExecReply{ExitCode: sh.status}
}
