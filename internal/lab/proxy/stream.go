package proxy

import (
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// open begins the call of a stream of the runtime.
func (c *call) open() (grpc.ClientStream, error) {
	return c.runtime.NewStream(c.ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, c.full)
}

// stream passes a call with many answers.
func (c *call) stream() error {
	runtime, err := c.open()
	if err != nil {
		return err
	}
	if err := errors.Join(runtime.SendMsg(&c.raw), runtime.CloseSend()); err != nil {
		return err
	}
	var held [][]byte // messages that wait for the next one
	for {
		var message []byte
		if err := runtime.RecvMsg(&message); err != nil {
			if ended, failed := c.send(held); ended {
				return failed
			}
			return c.finish(runtime, err)
		}
		proto.Reset(c.answer)
		_ = proto.Unmarshal(message, c.answer) // one that cannot be read matches no pod
		what := c.what
		what.Target, what.Message = c.target(c.answer), true
		fired := c.decide(what)
		copies, drop, reorder := 1, false, false
		for _, f := range fired {
			if err := wait(c.ctx, f.Delay); err != nil {
				return err
			}
			copies, drop, reorder = copies+f.Repeat, drop || f.Drop, reorder || f.Reorder
		}
		if drop {
			continue
		}
		if message, err = c.changed(message, fired); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
		messages := slices.Repeat([][]byte{message}, copies)
		if reorder && held == nil {
			held = messages
			continue
		}
		if ended, err := c.send(append(messages, held...)); ended {
			return err
		}
		held = nil
	}
}

// send passes messages to the caller, and reports whether that or a rule ends the stream, with
// the caller's error.
func (c *call) send(messages [][]byte) (ended bool, err error) {
	for _, m := range messages {
		if err := c.caller.SendMsg(&m); err != nil {
			return true, err
		}
		c.what.Passed++
		if ended, err := c.before(c.decide(c.what)); ended {
			return true, err
		}
	}
	return false, nil
}

// finish returns how a stream of the runtime ended.
func (c *call) finish(runtime grpc.ClientStream, err error) error {
	c.caller.SetTrailer(runtime.Trailer())
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// pass passes a call of a method that is not known.
func (c *call) pass() error {
	runtime, err := c.open()
	if err != nil {
		return err
	}
	go func() {
		for {
			var message []byte
			if err := c.caller.RecvMsg(&message); err != nil {
				_ = runtime.CloseSend()
				return
			}
			if runtime.SendMsg(&message) != nil {
				return
			}
		}
	}()
	for {
		var message []byte
		if err := runtime.RecvMsg(&message); err != nil {
			return c.finish(runtime, err)
		}
		if err := c.caller.SendMsg(&message); err != nil {
			return err
		}
	}
}
