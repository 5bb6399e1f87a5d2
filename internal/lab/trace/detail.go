package trace

import (
	"cmp"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/plural"
)

// detail returns the fields that matter of a call and its answer, "" if there are none.
// Either may be nil. It has no environment, no credentials and nothing that a container
// wrote; secrets shows the command lines, too.
func detail(request, response proto.Message, secrets bool) string {
	var fields []string
	add := func(format string, args ...any) { fields = append(fields, fmt.Sprintf(format, args...)) }
	switch q := request.(type) {
	case *runtimeapi.RunPodSandboxRequest:
		if q.GetRuntimeHandler() != "" {
			add("handler %s", q.GetRuntimeHandler())
		}
		if attempt := q.GetConfig().GetMetadata().GetAttempt(); attempt > 0 {
			add("attempt %d", attempt)
		}
	case *runtimeapi.CreateContainerRequest:
		image := q.GetConfig().GetImage()
		add("image %s", shortImage(cmp.Or(image.GetUserSpecifiedImage(), image.GetImage())))
		if attempt := q.GetConfig().GetMetadata().GetAttempt(); attempt > 0 {
			add("attempt %d", attempt)
		}
	case *runtimeapi.StopContainerRequest:
		add("grace %ds", q.GetTimeout())
	case *runtimeapi.ExecSyncRequest:
		addCommand(add, q.GetCmd(), secrets)
	case *runtimeapi.ExecRequest:
		addCommand(add, q.GetCmd(), secrets)
	case *runtimeapi.PortForwardRequest:
		add("ports %v", q.GetPort())
	case *runtimeapi.UpdateRuntimeConfigRequest:
		add("pod CIDR %s", q.GetRuntimeConfig().GetNetworkConfig().GetPodCidr())
	}
	switch r := response.(type) {
	case *runtimeapi.VersionResponse:
		add("%s %s", r.GetRuntimeName(), r.GetRuntimeVersion())
	case *runtimeapi.RunPodSandboxResponse:
		add("%s", pod.ShortID(r.GetPodSandboxId()))
	case *runtimeapi.CreateContainerResponse:
		add("%s", pod.ShortID(r.GetContainerId()))
	case *runtimeapi.ListPodSandboxResponse:
		add("%s", plural.Of(len(r.GetItems()), "sandbox"))
	case *runtimeapi.ListContainersResponse:
		add("%s", plural.Of(len(r.GetContainers()), "container"))
	case *runtimeapi.ListImagesResponse:
		add("%s", plural.Of(len(r.GetImages()), "image"))
	case *runtimeapi.PodSandboxStatusResponse:
		add("%s", strings.ToLower(strings.TrimPrefix(r.GetStatus().GetState().String(), "SANDBOX_")))
	case *runtimeapi.ContainerStatusResponse:
		addStatus(add, r.GetStatus())
	case *runtimeapi.ExecSyncResponse:
		add("exit code %d", r.GetExitCode())
		add("%d bytes", len(r.GetStdout())+len(r.GetStderr()))
	case *runtimeapi.ImageStatusResponse:
		if r.GetImage() == nil {
			add("not present")
		}
	case *runtimeapi.PullImageResponse:
		add("%s", shortImage(r.GetImageRef()))
	case *runtimeapi.StatusResponse:
		for _, c := range r.GetStatus().GetConditions() {
			if !c.GetStatus() && strings.HasSuffix(c.GetType(), "Ready") { // others are advice
				add("not %s: %s", c.GetType(), c.GetReason())
			}
		}
	}
	return strings.Join(fields, ", ")
}

func addStatus(add func(string, ...any), s *runtimeapi.ContainerStatus) {
	state := strings.ToLower(strings.TrimPrefix(s.GetState().String(), "CONTAINER_"))
	switch {
	case s == nil:
	case s.GetState() == runtimeapi.ContainerState_CONTAINER_EXITED:
		add("%s %d %s", state, s.GetExitCode(), s.GetReason())
	default:
		add("%s", state)
	}
}

// addCommand adds the name of a program; its arguments may be secrets.
func addCommand(add func(string, ...any), argv []string, secrets bool) {
	switch {
	case secrets:
		add("%q", argv)
	case len(argv) > 1:
		add("%s …", argv[0])
	case len(argv) == 1:
		add("%s", argv[0])
	}
}

// shortImage returns an image without most of a digest.
func shortImage(image string) string {
	if i := strings.Index(image, "sha256:"); i >= 0 {
		return image[:min(len(image), i+len("sha256:")+12)]
	}
	return image
}
