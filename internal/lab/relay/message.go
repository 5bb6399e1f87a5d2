package relay

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/grpc/mem"
)

// maxMessage is the kubelet's and containerd's limit of a CRI message, in bytes
// (k8s.io/cri-client/pkg/utils.go). A larger one is counted, not kept.
const maxMessage = 16 << 20

// maxKept bounds the messages of one connection that are incomplete.
const maxKept = 64 << 20

// prefixSize is the length of what stands before each gRPC message: a flag, and the length.
const prefixSize = 5

// assembler makes messages of the data of one direction of a call. The zero value is at
// the beginning of a message.
type assembler struct {
	prefix [prefixSize]byte
	have   int // bytes of prefix
	rest   int // bytes of the message that are to come
	size   int
	keep   bool
	data   []byte
}

// kept is what the message counts for in maxKept.
func (a *assembler) kept() int {
	if a.keep {
		return a.size
	}
	return 0
}

// add takes data, and calls each for every message that is complete. kept counts the
// incomplete ones of the connection.
func (a *assembler) add(data []byte, kept *int, each func(Message)) {
	for len(data) > 0 {
		if a.have < prefixSize {
			n := copy(a.prefix[a.have:], data)
			a.have, data = a.have+n, data[n:]
			if a.have < prefixSize {
				return
			}
			a.size = int(binary.BigEndian.Uint32(a.prefix[1:]))
			a.rest = a.size
			a.keep = a.prefix[0] == 0 && a.size <= maxMessage && *kept+a.size <= maxKept
			*kept += a.kept()
		}
		n := min(a.rest, len(data))
		if a.keep {
			a.data = append(a.data, data[:n]...)
		}
		a.rest, data = a.rest-n, data[n:]
		if a.rest == 0 {
			m := Message{Size: a.size, Data: a.data}
			*kept -= a.kept()
			*a = assembler{}
			each(m)
		}
	}
}

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
