package trace

import (
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	_ "k8s.io/cri-api/pkg/apis/runtime/v1" // registers the methods of the CRI
)

// Method is a method of the CRI.
type Method struct {
	Request, Response protoreflect.MessageType
	Stream            bool // of answers
}

// CRIMethods returns the methods of the CRI by full name: /runtime.v1.RuntimeService/Version. The
// first call reads them from the protobuf descriptors.
var CRIMethods = sync.OnceValue(func() map[string]Method {
	all := map[string]Method{}
	for _, name := range []protoreflect.FullName{"runtime.v1.RuntimeService", "runtime.v1.ImageService"} {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		if err != nil {
			panic(err) // the package above registers it
		}
		service, ok := found.(protoreflect.ServiceDescriptor)
		if !ok {
			continue
		}
		for i := range service.Methods().Len() {
			m := service.Methods().Get(i)
			request, err1 := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
			response, err2 := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
			if err1 == nil && err2 == nil {
				all["/"+string(name)+"/"+string(m.Name())] = Method{request, response, m.IsStreamingServer()}
			}
		}
	}
	return all
})

// decode reads a message; nil if it is not one of the type, or there is no type.
func decode(t protoreflect.MessageType, data []byte) proto.Message {
	if t == nil {
		return nil
	}
	m := t.New().Interface()
	if proto.Unmarshal(data, m) != nil {
		return nil
	}
	return m
}

// splitMethod splits /SERVICE/METHOD.
func splitMethod(full string) (service, name string) {
	service, name, ok := strings.Cut(strings.TrimPrefix(full, "/"), "/")
	if !ok {
		return "", service
	}
	return service, name
}

// MethodNames returns the names of the methods of the CRI without the service, sorted.
func MethodNames() []string {
	var names []string
	for full := range CRIMethods() {
		_, name := splitMethod(full)
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// MessagesOf returns an empty request and answer of a method, by its name on the wire, and
// whether it streams answers; nil for one that is not of the CRI.
func MessagesOf(full string) (request, response proto.Message, stream bool) {
	m, ok := CRIMethods()[full]
	if !ok {
		return nil, nil, false
	}
	return m.Request.New().Interface(), m.Response.New().Interface(), m.Stream
}
