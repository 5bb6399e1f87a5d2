// Package inspect asks a runtime for all that it knows of pods.
//
//	containers ─► verbose status of each sandbox and container ─► masked ─► Pod
//
// Values that may be secrets are masked by what the pod's spec says about them. Nothing is kept between calls. The
// kubelet has no counterpart; crictl's are inspect and inspectp.
package inspect

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/secret"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// Pod is what the runtime answers about a pod.
type Pod struct {
	// CLIName selects the pod on a command line.
	CLIName string `json:"-"`

	Metadata   Metadata         `json:"metadata"`   // of the pod
	Sandboxes  []map[string]any `json:"sandboxes"`  // of the containers, newest first: status, and info as the runtime has it
	Containers []map[string]any `json:"containers"` // status, and info as the runtime has it
}

// Metadata is the identity of a pod.
type Metadata struct {
	Namespace string `json:"namespace"` // of the pod
	Name      string `json:"name"`      // of the pod
	UID       string `json:"uid"`       // of the pod
}

// Inspector asks the runtime about containers.
type Inspector struct {
	Session *target.Session
	// ShowSecrets: values that may be secrets are not masked.
	ShowSecrets bool
}

// Pods asks the runtime about the containers, pod by pod.
func (i *Inspector) Pods(ctx context.Context, found []target.Target) ([]Pod, error) {
	s := i.Session
	var pods []*view.Pod
	byPod := map[types.UID][]*pod.Container{}
	for _, t := range found {
		if !slices.Contains(pods, t.Pod) {
			pods = append(pods, t.Pod)
		}
		if t.Container != nil {
			byPod[t.Pod.UID] = append(byPod[t.Pod.UID], t.Container)
		}
	}
	if !i.ShowSecrets {
		s.ReadObjects(ctx, pods)
	}
	var all []Pod
	for _, p := range pods {
		d := Pod{
			Metadata: Metadata{p.Namespace, p.Name, string(p.UID)}, CLIName: p.CLIName(),
			Sandboxes: []map[string]any{}, Containers: []map[string]any{},
		}
		for _, sandbox := range sandboxesOf(p, byPod[p.UID]) {
			raw, err := i.raw(ctx, s.Client.RawSandbox, sandbox, nil)
			if err != nil {
				return nil, err
			}
			d.Sandboxes = appendRaw(d.Sandboxes, raw)
		}
		for _, c := range byPod[p.UID] {
			raw, err := i.raw(ctx, s.Client.RawContainer, c.ID, specOf(p, c.Name))
			if err != nil {
				return nil, err
			}
			d.Containers = appendRaw(d.Containers, raw)
		}
		all = append(all, d)
	}
	return all, nil
}

func appendRaw(list []map[string]any, raw any) []map[string]any {
	if fields, ok := raw.(map[string]any); ok {
		return append(list, fields)
	}
	return list // it is gone
}

// raw asks the runtime, and masks the answer; nil if the object is gone.
func (i *Inspector) raw(ctx context.Context, ask func(context.Context, string) (map[string]any, error), id string, spec *v1.Container) (any, error) {
	answer, err := ask(ctx, id)
	switch {
	case errors.Is(err, cri.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case i.ShowSecrets:
		return answer, nil
	}
	masked, _ := secret.AnswerAndValues(answer, secret.NamesOf(spec))
	return masked, nil
}

// sandboxesOf returns the ids of the sandboxes of containers; of a pod without
// containers, that of the newest sandbox.
func sandboxesOf(p *view.Pod, containers []*pod.Container) []string {
	if p.Runtime == nil {
		return nil
	}
	var ids []string
	for i, sandbox := range p.Runtime.Sandboxes {
		used := slices.ContainsFunc(containers, func(c *pod.Container) bool { return c.SandboxID == sandbox.ID })
		if used || i == 0 && len(containers) == 0 {
			ids = append(ids, sandbox.ID)
		}
	}
	return ids
}

// specOf returns a container of the pod's spec, nil if it is not known.
func specOf(p *view.Pod, name string) *v1.Container {
	if p.Object == nil {
		return nil
	}
	for c := range pod.Containers(p.Object) {
		if c.Name == name {
			return c
		}
	}
	return nil
}
