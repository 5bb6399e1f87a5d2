package credential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	// programTimeout bounds a helper or a plugin (ExecPlugin in
	// pkg/credentialprovider/plugin/plugin.go).
	programTimeout = time.Minute
	// programWait bounds the wait for descendants that keep the output open after the
	// program has exited or was killed.
	programWait = time.Second
	// maxOutput bounds what a program may print.
	maxOutput = 1 << 20
)

var errTooLong = fmt.Errorf("it printed more than %d bytes", maxOutput)

// run runs a program and returns its standard output. Neither its output nor its
// standard error is in the error: either may contain a password.
func run(ctx context.Context, path string, args, env []string, in io.Reader) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.WaitDelay = in, programWait
	if len(env) > 0 {
		cmd.Env = append(os.Environ(), env...) // the last of a name wins
	}
	out := &boundedBuffer{stop: cancel}
	cmd.Stdout = out
	err := cmd.Run()
	name := filepath.Base(path)
	switch {
	case out.over:
		return nil, fmt.Errorf("run %s: %w", name, errTooLong)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("run %s: it did not finish within %s: %w", name, programTimeout, ctx.Err())
	case err != nil:
		return out.buffer.Bytes(), fmt.Errorf("run %s: %w", name, err)
	}
	return out.buffer.Bytes(), nil
}

// boundedBuffer ends the program that writes more than maxOutput into it. The buffer
// is not embedded: io.Copy would call its ReadFrom, which has no bound.
type boundedBuffer struct {
	buffer bytes.Buffer
	stop   func()
	over   bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.buffer.Len()+len(p) > maxOutput {
		b.over = true
		b.stop()
		return 0, errTooLong
	}
	return b.buffer.Write(p)
}
