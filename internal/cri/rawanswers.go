package cri

import (
	"context"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RawMethods are the methods that RawAnswer calls: those that only read and need no id.
var RawMethods = []string{"Version", "Status", "RuntimeConfig", "ListPodSandbox", "ListContainers", "ListImages", "ImageFsInfo"}

// RawAnswer returns what the runtime answers to one of RawMethods, as encoding/json reads
// it; Status is asked with verbose.
func (c *Client) RawAnswer(ctx context.Context, method string) (any, error) {
	switch method {
	case "Version":
		return rawFields(c.runtime.Version(ctx, &runtimeapi.VersionRequest{}))
	case "Status":
		r, err := c.runtime.Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
		if err != nil {
			return nil, err
		}
		return rawStatus(r.GetStatus(), r.GetInfo())
	case "RuntimeConfig":
		return rawFields(c.runtime.RuntimeConfig(ctx, &runtimeapi.RuntimeConfigRequest{}))
	case "ListPodSandbox":
		return rawFields(c.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{}))
	case "ListContainers":
		return rawFields(c.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{}))
	case "ListImages":
		return rawFields(c.image.ListImages(ctx, &runtimeapi.ListImagesRequest{}))
	case "ImageFsInfo":
		return rawFields(c.image.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{}))
	}
	return nil, answerError(method, "", "not one of the methods that only read")
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
	return fields, json.Unmarshal(text, &fields)
}
