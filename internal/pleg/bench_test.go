package pleg

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// static answers from memory, without a copy: what is measured is the PLEG.
type static struct{ pods []*pod.Pod }

func (r *static) ListPods(context.Context) ([]*pod.Pod, error) { return r.pods, nil }

func (r *static) ListPod(_ context.Context, uid types.UID) (*pod.Pod, error) {
	for _, p := range r.pods {
		if p.UID == uid {
			return p, nil
		}
	}
	return nil, nil
}

func (r *static) PodStatus(_ context.Context, p *pod.Pod) (*pod.Status, error) {
	return &pod.Status{UID: p.UID}, nil
}

func (r *static) Notices(context.Context, func(), func(pod.Notice)) error {
	return errors.ErrUnsupported
}

// node is two listings of n pods of three containers each: they differ in the
// states of every changed-th pod's first container.
func node(n, changed int) [2][]*pod.Pod {
	var listings [2][]*pod.Pod
	for side := range listings {
		for i := range n {
			p := &pod.Pod{
				UID: types.UID(fmt.Sprint("pod-", i)), Name: fmt.Sprint("pod-", i), Namespace: "default",
				Sandboxes: []*pod.Sandbox{{ID: fmt.Sprintf("%064d", i), State: pod.Running}},
			}
			for c := range 3 {
				p.Containers = append(p.Containers, &pod.Container{ID: fmt.Sprintf("%060d-%d", i, c), Name: fmt.Sprint("c", c), State: pod.Running})
			}
			if side == 1 && changed > 0 && i%changed == 0 {
				p.Containers[0].State = pod.Exited
			}
			listings[side] = append(listings[side], p)
		}
	}
	return listings
}

// settle runs the loop until nothing is in flight.
func (l *loop) settle() {
	l.step()
	for l.full != nil || len(l.calls) > 0 {
		(<-l.done)()
		l.step()
	}
}

func BenchmarkRelist(b *testing.B) {
	for _, n := range []int{100, 1000} {
		for _, c := range []struct {
			name    string
			changed int // every so many pods
		}{{"unchanged", 0}, {"1%", 100}, {"all", 1}} {
			b.Run(fmt.Sprintf("pods=%d/%s", n, c.name), func(b *testing.B) {
				listings := node(n, c.changed)
				rt := &static{listings[0]}
				p := New(rt, Options{})
				sub := p.Subscribe()
				l := newLoop(b.Context(), p)
				l.settle()
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					rt.pods = listings[(i+1)%2]
					l.requestFullRelist(time.Time{}.Add(1))
					l.settle()
					sub.Take()
				}
			})
		}
	}
}

// BenchmarkHint is one hinted change of one pod among many.
func BenchmarkHint(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			listings := node(n, n)
			rt := &static{listings[0]}
			p := New(rt, Options{Period: time.Hour})
			sub := p.Subscribe()
			l := newLoop(b.Context(), p)
			l.settle()
			sub.Take()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				rt.pods = listings[(i+1)%2]
				p.inbox.addHint(pod.Notice{ID: listings[0][0].Containers[0].ID, PodUID: "pod-0"})
				l.settle()
				if len(sub.Take()) != 1 {
					b.Fatal("no event")
				}
			}
		})
	}
}
