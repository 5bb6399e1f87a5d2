package startgate

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func podOf(i int, priority int32) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint("p", i))}, Spec: v1.PodSpec{Priority: &priority}}
}

// start runs pods through the gate at once, each of whose turns takes a while, and
// returns when each began.
func start(t *testing.T, g *Gate, pods []*v1.Pod, takes func(i int) time.Duration) []time.Duration {
	began, at := time.Now(), make([]time.Duration, len(pods))
	done := make(chan struct{})
	for i, p := range pods {
		go func() {
			defer func() { done <- struct{}{} }()
			leave, err := g.Enter(t.Context(), p)
			if err != nil {
				t.Error(err)
				return
			}
			defer leave()
			at[i] = time.Since(began)
			time.Sleep(takes(i))
		}()
	}
	for range pods {
		<-done
	}
	return at
}

func second(int) time.Duration { return time.Second }

func TestExpectedPodsStartByPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{First: 1, Most: 1})
		var pods []*v1.Pod
		for i := range 5 {
			pods = append(pods, podOf(i, int32(i)))
		}
		for _, p := range pods {
			g.Expect(p)
		}
		for i, at := range start(t, g, pods, second) {
			if want := time.Duration(4-i) * time.Second; at != want {
				t.Errorf("the pod of priority %d began at %s, want %s", i, at, want)
			}
		}
	})
}

func TestHungTurnDelaysOthersByHungAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{First: 2, Most: 2, HungAfter: 5 * time.Second})
		var pods []*v1.Pod
		for i := range 30 {
			pods = append(pods, podOf(i, 0))
			g.Expect(pods[i])
		}
		hangs := func(i int) time.Duration {
			if i < 10 {
				return time.Hour
			}
			return time.Second
		}
		for i, at := range start(t, g, pods, hangs) {
			if at > 5*time.Second {
				t.Errorf("pod %d began at %s", i, at)
			}
		}
	})
}

func TestMissingExpectedPodDelaysOthersByASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{First: 1, Most: 1})
		g.Expect(podOf(9, 5))
		if at := start(t, g, []*v1.Pod{podOf(1, 0)}, second); at[0] != expectFor {
			t.Errorf("began at %s", at[0])
		}
		g.Expect(podOf(9, 5))
		g.Forget("p9")
		if at := start(t, g, []*v1.Pod{podOf(1, 0)}, second); at[0] != 0 {
			t.Errorf("began at %s after the other was forgotten", at[0])
		}
	})
}

func TestCanceledWaitReleasesPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{First: 1, Most: 1, HungAfter: time.Minute})
		leave, err := g.Enter(t.Context(), podOf(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Enter(ctx, podOf(2, 9)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		leave()
		leave() // once is enough, twice does no harm
		if at := start(t, g, []*v1.Pod{podOf(3, 0)}, second); at[0] != 0 {
			t.Errorf("began at %s", at[0])
		}
	})
}

// The window of 60 pods: the first starts as if it were alone, the last as late as
// the window makes it.
func TestSixtyPodsWidenTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{First: 2, Most: 8})
		var pods []*v1.Pod
		for i := range 60 {
			pods = append(pods, podOf(i, 0))
			g.Expect(pods[i])
		}
		at := start(t, g, pods, second)
		if at[0] != 0 || at[59] != 8*time.Second {
			t.Errorf("the first began at %s, the last at %s", at[0], at[59])
		}
	})
}
