package oracle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live/record"
)

// changesOf decodes the calls that the recordings have, in the order in which
// they began.
func changesOf(calls []record.Call) []podCall {
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b record.Call) int { return a.Start.Compare(b.Start) })
	names := map[string]string{}
	var out []podCall
	for _, call := range calls {
		c := podCall{T: int(call.Start.Sub(calls[0].Start).Milliseconds()), Method: call.Method}
		if call.Err != nil {
			c.Err = call.Err.Error()
		}
		switch call.Method {
		case "RunPodSandbox":
			c.config = decode(call.Request, &runtimeapi.RunPodSandboxRequest{}).Config
		case "CreateContainer":
			config := decode(call.Request, &runtimeapi.CreateContainerRequest{}).Config
			c.Container, c.config = config.Metadata.Name, config
			names[decode(call.Answer, &runtimeapi.CreateContainerResponse{}).ContainerId] = c.Container
		case "StartContainer":
			c.Container = names[decode(call.Request, &runtimeapi.StartContainerRequest{}).ContainerId]
		case "StopContainer":
			r := decode(call.Request, &runtimeapi.StopContainerRequest{})
			c.Container, r.ContainerId, c.config = names[r.ContainerId], "", r
		case "ExecSync":
			r := decode(call.Request, &runtimeapi.ExecSyncRequest{})
			c.Container, r.ContainerId, c.config = names[r.ContainerId], "", r
		case "PullImage":
			c.config = &runtimeapi.PullImageRequest{Image: decode(call.Request, &runtimeapi.PullImageRequest{}).Image}
		case "StopPodSandbox":
		default:
			continue
		}
		out = append(out, c)
	}
	return out
}

func decode[M proto.Message](data []byte, m M) M {
	if err := proto.Unmarshal(data, m); err != nil {
		panic(err) // the runtime understood it
	}
	return m
}

// order is the required order of a pod's calls.
type order struct{ sidecars map[string]bool }

func orderOf(p *v1.Pod) order {
	o := order{sidecars: map[string]bool{}}
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			o.sidecars[c.Name] = true
		}
	}
	return o
}

// evened are the calls of one life of a pod, without what may differ.
type evened struct {
	calls []podCall
	// probes are the different executions of probes, sorted.
	probes []string
}

// even leaves out repeats of StopPodSandbox and the number of repetitions of
// a probe, and brings what is done to containers in parallel into the order
// of their names.
func (o order) even(calls []podCall) evened {
	var e evened
	var rest []podCall
	stopped := false
	for _, c := range calls {
		switch {
		case c.isProbe():
			e.probes = append(e.probes, fmt.Sprint(c.Container, " ", c.args(noMask)))
			continue
		case c.Method == "RunPodSandbox":
			stopped = false
		case c.Method == "StopPodSandbox":
			if stopped {
				continue
			}
			stopped = true
		}
		rest = append(rest, c)
	}
	slices.Sort(e.probes)
	e.probes = slices.Compact(e.probes)
	// Of all equivalent orders, the first.
	for len(rest) > 0 {
		first := 0
		for i := range rest {
			free := !slices.ContainsFunc(rest[:i], func(before podCall) bool { return !o.parallel(before, rest[i]) })
			if free && rest[i].Container < rest[first].Container {
				first = i
			}
		}
		e.calls = append(e.calls, rest[first])
		rest = slices.Delete(rest, first, first+1)
	}
	return e
}

// parallel reports whether two calls may be made in either order: stops and
// hooks of different containers, but a sidecar is stopped in its turn.
func (o order) parallel(a, b podCall) bool {
	if !a.ends() || !b.ends() || a.Container == b.Container {
		return false
	}
	bothStops := a.Method == "StopContainer" && b.Method == "StopContainer"
	return !bothStops || !o.sidecars[a.Container] && !o.sidecars[b.Container]
}

func (c podCall) ends() bool { return c.Method == "StopContainer" || c.Method == "ExecSync" }

// isProbe tells a probe from a hook, which has no timeout.
func (c podCall) isProbe() bool {
	return c.Method == "ExecSync" && c.args(noMask)["timeout"] != nil
}

func noMask(s string) string { return s }

// args are the recorded arguments, or those of the call that was made.
func (c podCall) args(mask func(string) string) map[string]any {
	if c.config == nil {
		return c.Args
	}
	return argsOf(c.config, mask)
}

// outline is the call without its arguments.
func (c podCall) outline() string {
	s := strings.TrimSpace(c.Method + " " + c.Container)
	if c.Err != "" && !c.ends() {
		s += " failed"
	}
	return s
}

// compareCalls compares what the kubelet did with what podctl did: which
// calls in which order, whether a creation failed, and all arguments.
func compareCalls(t *testing.T, kubelet, podctl evened, mask func(string) string, hugePages []string) {
	t.Helper()
	if diff := cmp.Diff(kubelet.probes, podctl.probes); diff != "" {
		t.Errorf("probes (-kubelet +podctl):\n%s", diff)
	}
	if diff := cmp.Diff(outlines(kubelet.calls), outlines(podctl.calls)); diff != "" {
		t.Errorf("calls (-kubelet +podctl):\n%s", diff)
		return
	}
	for i, want := range kubelet.calls {
		got := podctl.calls[i]
		wanted := resizeHugePages(maskArgs(want.Args, mask), hugePages)
		if diff := diffArgs(wanted, got.args(mask)); diff != "" {
			t.Errorf("call %d, %s (-kubelet +podctl):\n%s", i, got.outline(), diff)
		}
	}
}

func outlines(calls []podCall) []string {
	var all []string
	for _, c := range calls {
		all = append(all, c.outline())
	}
	return all
}
