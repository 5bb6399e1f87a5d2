package recording

import (
	"slices"

	"github.com/distribution/reference"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/labels"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// question is a kind of call, and how a call is answered from the recorded answer to a wider one.
type question struct {
	// idOf returns the id whose status a request asks for, "" for any other request.
	idOf func(request []byte) (string, error)
	// narrow returns the part of a recorded answer that the request asks for.
	narrow func(request, answer []byte) ([]byte, error)
}

// questions are the calls that are recorded and served, by the CRI's name. Of filters those are
// honoured that package cri sends.
var questions = map[string]*question{
	"Version":       runtimeQuestion[runtimeapi.VersionRequest, runtimeapi.VersionResponse](nil),
	"RuntimeConfig": runtimeQuestion[runtimeapi.RuntimeConfigRequest, runtimeapi.RuntimeConfigResponse](nil),
	"ImageFsInfo":   runtimeQuestion[runtimeapi.ImageFsInfoRequest, runtimeapi.ImageFsInfoResponse](nil),
	"Status": runtimeQuestion(func(q *runtimeapi.StatusRequest, a *runtimeapi.StatusResponse) {
		if !q.Verbose {
			a.Info = nil
		}
	}),
	"PodSandboxStatus": questionByID((*runtimeapi.PodSandboxStatusRequest).GetPodSandboxId, func(q *runtimeapi.PodSandboxStatusRequest, a *runtimeapi.PodSandboxStatusResponse) {
		if !q.Verbose {
			a.Info = nil
		}
	}),
	"ContainerStatus": questionByID((*runtimeapi.ContainerStatusRequest).GetContainerId, func(q *runtimeapi.ContainerStatusRequest, a *runtimeapi.ContainerStatusResponse) {
		if !q.Verbose {
			a.Info = nil
		}
	}),
	"ListPodSandbox": runtimeQuestion(func(q *runtimeapi.ListPodSandboxRequest, a *runtimeapi.ListPodSandboxResponse) {
		a.Items = slices.DeleteFunc(a.Items, func(s *runtimeapi.PodSandbox) bool { return !selects(q.GetFilter().GetLabelSelector(), s.GetLabels()) })
	}),
	"ListContainers": runtimeQuestion(func(q *runtimeapi.ListContainersRequest, a *runtimeapi.ListContainersResponse) {
		a.Containers = slices.DeleteFunc(a.Containers, func(c *runtimeapi.Container) bool { return !selects(q.GetFilter().GetLabelSelector(), c.GetLabels()) })
	}),
	"ListContainerStats":  runtimeQuestion[runtimeapi.ListContainerStatsRequest, runtimeapi.ListContainerStatsResponse](nil),
	"ListPodSandboxStats": runtimeQuestion[runtimeapi.ListPodSandboxStatsRequest, runtimeapi.ListPodSandboxStatsResponse](nil),
	"ListImages":          runtimeQuestion[runtimeapi.ListImagesRequest, runtimeapi.ListImagesResponse](nil),
}

// message is a pointer to a protobuf message of type M.
type message[M any] interface {
	*M
	proto.Message
}

// runtimeQuestion returns a question about the whole runtime. narrow reduces an answer without a
// filter, and with the verbose part, to that of a request; nil leaves it as it is.
func runtimeQuestion[Q, A any, PQ message[Q], PA message[A]](narrow func(PQ, PA)) *question {
	return questionByID(func(PQ) string { return "" }, narrow)
}

// questionByID returns a question about the sandbox or container whose id is in a request. narrow
// is that of runtimeQuestion.
func questionByID[Q, A any, PQ message[Q], PA message[A]](id func(PQ) string, narrow func(PQ, PA)) *question {
	return &question{
		idOf: func(request []byte) (string, error) {
			var q Q
			err := proto.Unmarshal(request, PQ(&q))
			return id(&q), err
		},
		narrow: func(request, answer []byte) ([]byte, error) {
			if narrow == nil {
				return answer, nil
			}
			var q Q
			var a A
			if err := proto.Unmarshal(request, PQ(&q)); err != nil {
				return nil, err
			}
			if err := proto.Unmarshal(answer, PA(&a)); err != nil {
				return nil, err
			}
			narrow(&q, &a)
			return proto.Marshal(PA(&a))
		},
	}
}

func selects(selector, of map[string]string) bool {
	return labels.SelectorFromSet(selector).Matches(labels.Set(of))
}

// isNamed reports whether an image has a name, digest or id.
func isNamed(i *runtimeapi.Image, name string) bool {
	names := append(append([]string{i.GetId()}, i.GetRepoTags()...), i.GetRepoDigests()...)
	if slices.Contains(names, name) {
		return true
	}
	named, err := reference.ParseDockerRef(name) // docker.io/library/busybox:latest for busybox
	return err == nil && slices.Contains(names, named.String())
}
