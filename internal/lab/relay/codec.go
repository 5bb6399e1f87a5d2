package relay

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// Codec passes messages as they are. Each is a *[]byte.
type Codec struct{}

// Marshal implements encoding.CodecV2.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*message)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	message, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	*message = data.Materialize()
	return nil
}

// Name returns "", as package cri's codec does: a name would become part of the content type.
func (Codec) Name() string { return "" }
