package cri

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RawSandbox returns the verbose status of a sandbox as the runtime answers it, as
// encoding/json reads it: status, and what the runtime adds to it, as crictl prints
// them. Times are RFC 3339.
func (c *Client) RawSandbox(ctx context.Context, id string) (map[string]any, error) {
	r, err := c.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id, Verbose: true})
	if err != nil {
		return nil, err
	}
	return rawStatus(r.GetStatus(), r.GetInfo())
}

// RawContainer returns the same of a container.
func (c *Client) RawContainer(ctx context.Context, id string) (map[string]any, error) {
	r, err := c.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id, Verbose: true})
	if err != nil {
		return nil, err
	}
	return rawStatus(r.GetStatus(), r.GetInfo())
}

func rawStatus(status proto.Message, info map[string]string) (map[string]any, error) {
	fields, err := rawFields(status, nil)
	if err != nil {
		return nil, err
	}
	for name, read := range map[string]func() int64{
		"createdAt":  timeOf(status, func(s interface{ GetCreatedAt() int64 }) int64 { return s.GetCreatedAt() }),
		"startedAt":  timeOf(status, func(s interface{ GetStartedAt() int64 }) int64 { return s.GetStartedAt() }),
		"finishedAt": timeOf(status, func(s interface{ GetFinishedAt() int64 }) int64 { return s.GetFinishedAt() }),
	} {
		if _, known := fields[name]; !known {
			continue
		}
		fields[name] = ""
		if t := toTime(read()); !t.IsZero() {
			fields[name] = t.UTC().Format(time.RFC3339Nano)
		}
	}
	raw := map[string]any{"status": fields}
	for key, text := range info {
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			value = text
		}
		raw[key] = value
	}
	return raw, nil
}

// timeOf reads a time of a message, in nanoseconds; 0 if the message has none.
func timeOf[T any](status proto.Message, read func(T) int64) func() int64 {
	return func() int64 {
		if s, ok := status.(T); ok {
			return read(s)
		}
		return 0
	}
}

// rawFields returns a message as encoding/json reads it.
func rawFields[M proto.Message](m M, err error) (map[string]any, error) {
	if err != nil {
		return nil, err
	}
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	err = json.Unmarshal(text, &fields)
	return fields, err
}
