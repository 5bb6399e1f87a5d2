package cri

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Lists of everything are made every second, and nearly all of what they say
// was said before. So an entry is decoded and converted only if its bytes are
// new.

// sandboxEntry is an entry of ListPodSandbox, and whose it is.
type sandboxEntry struct {
	*pod.Sandbox
	identity
}

func (s sandboxEntry) idAndState() (id string, state pod.State) { return s.ID, s.State }

func toSandboxEntry(s *runtimeapi.PodSandbox) sandboxEntry {
	return sandboxEntry{toSandbox(s), sandboxIdentity(s)}
}

// containerEntry is an entry of ListContainers; its uid is "" without a UID
// label.
type containerEntry struct {
	*pod.Container
	identity
}

func (c containerEntry) idAndState() (id string, state pod.State) { return c.ID, c.State }

func toContainerEntry(c *runtimeapi.Container) containerEntry {
	return containerEntry{toContainer(c), identityOf(c.Labels)}
}

// entries are what the last list of one kind said, by a digest of each entry.
// The bytes themselves are not kept: manifests are among them.
type entries[M any, T any] struct {
	convert func(*M) T
	seeds   [2]maphash.Seed

	mu    sync.Mutex
	known map[digest]*entry[T]
	lists uint64
	// version changes whenever a list says something else than the one before.
	version uint64
}

// digest stands for an entry's fields, in whatever order: labels and
// annotations come in another one each time. It is a sum of keyed hashes, 128
// bits wide, so that two entries that differ do not share one.
type digest [2]uint64

// digest is that of one entry; the error is that of a malformed one.
func (es *entries[M, T]) digest(entry []byte) (digest, error) {
	var d digest
	for len(entry) > 0 {
		_, _, n := protowire.ConsumeField(entry)
		if n < 0 {
			return d, protowire.ParseError(n)
		}
		for i, seed := range es.seeds {
			d[i] += maphash.Bytes(seed, entry[:n])
		}
		entry = entry[n:]
	}
	return d, nil
}

type entry[T any] struct {
	value T
	list  uint64 // the last one that had it
}

func newEntries[M, T any](convert func(*M) T) *entries[M, T] {
	return &entries[M, T]{convert: convert, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, known: map[digest]*entry[T]{}}
}

// message is a pointer to a protobuf message of type M.
type message[M any] interface {
	*M
	proto.Message
}

// listEntry is a sandbox or container of a list.
type listEntry interface {
	idAndState() (id string, state pod.State)
}

// list returns all objects of a kind in the order of the runtime, with the version of the list.
// The answer of the runtime is a message with a list in field 1.
func list[M any, T listEntry, P message[M]](ctx context.Context, c *conn, e listSpec, es *entries[M, T]) ([]T, uint64, error) {
	var all []T
	var version uint64
	decode := decoder(func(raw []byte) (err error) {
		all, version, err = take[M, T, P](es, raw)
		return err
	})
	if !c.listMode(e).large {
		err := c.Invoke(ctx, e.list, e.listRequest, decode, grpc.ForceCodecV2(listCodec{}))
		if !errors.Is(err, ErrTooLarge) {
			return all, version, err
		}
	}
	raw, err := c.readLargeList(ctx, e)
	if err != nil {
		return nil, 0, err
	}
	if err := decode(raw); err != nil {
		return nil, 0, err
	}
	all = lastByID(all)
	dead := 0
	for _, entry := range all {
		if _, state := entry.idAndState(); state == pod.Exited {
			dead++
		}
	}
	c.reportLargeList(e.noun, dead, len(all))
	return all, version, nil
}

func take[M, T any, P message[M]](es *entries[M, T], raw []byte) ([]T, uint64, error) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.lists++
	all := make([]T, 0, len(es.known))
	there := 0 // entries, each counted once
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return nil, 0, protowire.ParseError(n)
		}
		raw = raw[n:]
		if number != 1 || kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, raw); n < 0 {
				return nil, 0, protowire.ParseError(n)
			}
			raw = raw[n:]
			continue
		}
		bytes, n := protowire.ConsumeBytes(raw)
		if n < 0 {
			return nil, 0, protowire.ParseError(n)
		}
		raw = raw[n:]
		key, err := es.digest(bytes)
		if err != nil {
			return nil, 0, err
		}
		e := es.known[key]
		if e == nil {
			var m M
			if err := proto.Unmarshal(bytes, P(&m)); err != nil {
				return nil, 0, err
			}
			e = &entry[T]{value: es.convert(&m)}
			es.known[key] = e
			es.version++
		}
		if e.list != es.lists {
			e.list = es.lists
			there++
		}
		all = append(all, e.value)
	}
	if there < len(es.known) {
		es.forget()
	}
	return all, es.version, nil
}

// forget drops what the last list did not have.
func (es *entries[M, T]) forget() {
	for key, e := range es.known {
		if e.list != es.lists {
			delete(es.known, key)
			es.version++
		}
	}
}

// decoder takes the bytes of an answer, which are its own until it returns.
type decoder func(raw []byte) error

// listCodec hands answers to a decoder.
type listCodec struct{}

// listBuffers are what answers are put together in. gRPC's own pool has nothing
// between 32 KiB and 1 MiB, of which every list of some dozens of pods would
// take the latter.
var listBuffers = mem.NewTieredBufferPool(16<<10, 32<<10, 64<<10, 128<<10, 256<<10, 512<<10, 1<<20, 2<<20, 4<<20)

func (listCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	b, err := proto.Marshal(m)
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

func (listCodec) Unmarshal(data mem.BufferSlice, v any) error {
	decode, ok := v.(decoder)
	if !ok {
		return fmt.Errorf("%T is no decoder", v)
	}
	buffer := data.MaterializeToBuffer(listBuffers)
	defer buffer.Free()
	return decode(buffer.ReadOnlyData())
}

// Name is empty: a name would become part of the content type, and CRI-O resets
// a connection whose first call's is not plainly application/grpc.
func (listCodec) Name() string { return "" }
