package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// kubeletLoop is the kubelet's relist as it works (pkg/kubelet/pleg/generic.go,
// pkg/kubelet/kuberuntime): two lists, pods made of them, the events of every
// container of every pod, and then, of one changed pod after the other, one
// status after the other. What does not concern the PLEG (metrics,
// logs, the channel's reader) is left out.
type kubeletLoop struct {
	rt      runtimeapi.RuntimeServiceClient
	records map[string]*kubeletRecord
	cache   map[string]*kubeletStatus

	// calls are those made, lists the time that the lists among them took.
	calls int
	lists time.Duration
}

type kubeletRecord struct{ old, current *kubeletPod }

type kubeletPod struct {
	uid, name, namespace string
	created              int64
	sandboxes            []*kubeletPart
	containers           []*kubeletPart
}

// kubeletPart is a container or a sandbox.
type kubeletPart struct {
	id, name, sandbox, image, imageID string
	created                           int64
	state                             kubeletState
}

type kubeletState uint8

const (
	kubeletGone kubeletState = iota
	kubeletRunning
	kubeletExited
	kubeletUnknown
)

type kubeletEvent struct{ uid, id, kind string }

type kubeletStatus struct {
	sandboxes  []*runtimeapi.PodSandboxStatus
	containers []*runtimeapi.ContainerStatus
}

func newKubeletLoop(rt runtimeapi.RuntimeServiceClient) *kubeletLoop {
	return &kubeletLoop{rt: rt, records: map[string]*kubeletRecord{}, cache: map[string]*kubeletStatus{}}
}

// relist does one round and returns the events that it would send.
func (k *kubeletLoop) relist(ctx context.Context) ([]kubeletEvent, error) {
	pods, err := k.pods(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range k.records {
		r.current = nil
	}
	for _, p := range pods {
		if r := k.records[p.uid]; r != nil {
			r.current = p
		} else {
			k.records[p.uid] = &kubeletRecord{current: p}
		}
	}
	var sent []kubeletEvent
	for uid, r := range k.records {
		var events []kubeletEvent
		for _, id := range allParts(r.old, r.current) {
			events = append(events, eventsOf(uid, id, r.old.stateOf(id), r.current.stateOf(id))...)
		}
		if len(events) == 0 {
			continue
		}
		if r.current == nil {
			delete(k.cache, uid)
			delete(k.records, uid)
		} else {
			st, err := k.status(ctx, r.current)
			if err != nil {
				continue // the record stays: seen again by the next relist
			}
			k.cache[uid] = st
			r.old = r.current
		}
		for _, e := range events {
			if e.kind != "ContainerChanged" {
				sent = append(sent, e)
			}
		}
	}
	return sent, nil
}

// pods lists all sandboxes, then all containers, newest pod first.
func (k *kubeletLoop) pods(ctx context.Context) ([]*kubeletPod, error) {
	begin := time.Now()
	sandboxes, err := k.rt.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, err
	}
	k.lists += time.Since(begin)
	byUID := map[string]*kubeletPod{}
	for _, s := range sandboxes.Items {
		m := s.GetMetadata()
		p := byUID[m.GetUid()]
		if p == nil {
			p = &kubeletPod{uid: m.GetUid(), name: m.GetName(), namespace: m.GetNamespace()}
			byUID[p.uid] = p
		}
		state := kubeletExited
		if s.State == runtimeapi.PodSandboxState_SANDBOX_READY {
			state = kubeletRunning
		}
		p.sandboxes = append(p.sandboxes, &kubeletPart{id: s.Id, created: s.CreatedAt, state: state})
		p.created = s.CreatedAt
	}
	begin = time.Now()
	containers, err := k.rt.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return nil, err
	}
	k.lists += time.Since(begin)
	k.calls += 2
	for _, c := range containers.Containers {
		uid := c.Labels["io.kubernetes.pod.uid"]
		p := byUID[uid]
		if p == nil {
			p = &kubeletPod{uid: uid, name: c.Labels["io.kubernetes.pod.name"], namespace: c.Labels["io.kubernetes.pod.namespace"]}
			byUID[uid] = p
		}
		part := &kubeletPart{
			id: c.Id, name: c.Labels["io.kubernetes.container.name"], sandbox: c.PodSandboxId,
			image: c.GetImage().GetImage(), imageID: c.ImageId, created: c.CreatedAt, state: kubeletUnknown,
		}
		switch c.State {
		case runtimeapi.ContainerState_CONTAINER_RUNNING:
			part.state = kubeletRunning
		case runtimeapi.ContainerState_CONTAINER_EXITED:
			part.state = kubeletExited
		}
		p.containers = append(p.containers, part)
	}
	pods := make([]*kubeletPod, 0, len(byUID))
	for _, p := range byUID {
		pods = append(pods, p)
	}
	slices.SortStableFunc(pods, func(a, b *kubeletPod) int { return cmp.Compare(b.created, a.created) })
	return pods, nil
}

// allParts are the ids of all containers and sandboxes of both, each once.
func allParts(pods ...*kubeletPod) []string {
	seen, ids := map[string]struct{}{}, []string(nil)
	for _, p := range pods {
		if p == nil {
			continue
		}
		for _, parts := range [...][]*kubeletPart{p.containers, p.sandboxes} {
			for _, part := range parts {
				if _, ok := seen[part.id]; !ok {
					seen[part.id] = struct{}{}
					ids = append(ids, part.id)
				}
			}
		}
	}
	return ids
}

// stateOf looks the container up, and if there is none of that id, the sandbox.
func (p *kubeletPod) stateOf(id string) kubeletState {
	if p == nil {
		return kubeletGone
	}
	for _, parts := range [...][]*kubeletPart{p.containers, p.sandboxes} {
		for _, part := range parts {
			if part.id == id {
				return part.state
			}
		}
	}
	return kubeletGone
}

func eventsOf(uid, id string, old, now kubeletState) []kubeletEvent {
	switch {
	case old == now:
		return nil
	case now == kubeletRunning:
		return []kubeletEvent{{uid, id, "ContainerStarted"}}
	case now == kubeletExited:
		return []kubeletEvent{{uid, id, "ContainerDied"}}
	case now == kubeletUnknown:
		return []kubeletEvent{{uid, id, "ContainerChanged"}}
	case old == kubeletExited:
		return []kubeletEvent{{uid, id, "ContainerRemoved"}}
	default:
		return []kubeletEvent{{uid, id, "ContainerDied"}, {uid, id, "ContainerRemoved"}}
	}
}

// status reads one sandbox after the other, then one container after the other.
func (k *kubeletLoop) status(ctx context.Context, p *kubeletPod) (*kubeletStatus, error) {
	st := &kubeletStatus{}
	for _, s := range p.sandboxes {
		k.calls++
		resp, err := k.rt.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: s.id})
		if status.Code(err) == codes.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		st.sandboxes = append(st.sandboxes, resp.Status)
	}
	for _, c := range p.containers {
		k.calls++
		resp, err := k.rt.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: c.id})
		if status.Code(err) == codes.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		st.containers = append(st.containers, resp.Status)
	}
	slices.SortFunc(st.containers, func(a, b *runtimeapi.ContainerStatus) int { return cmp.Compare(b.CreatedAt, a.CreatedAt) })
	return st, nil
}
