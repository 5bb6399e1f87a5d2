package record

import "fmt"

// message is a message as it is on the wire.
type message struct{ data []byte }

// rawCodec passes messages through. It has no name: CRI-O resets connections whose
// content type is not plainly application/grpc.
type rawCodec struct{}

func (rawCodec) Name() string { return "" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("marshal %T: not a raw message", v)
	}
	return m.data, nil
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("unmarshal %T: not a raw message", v)
	}
	m.data = append([]byte(nil), data...)
	return nil
}
