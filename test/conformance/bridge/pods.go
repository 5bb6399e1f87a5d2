package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/podctl/podctl/internal/owners/control"
)

// poll is the period in which podctl is asked, and resync that in which objects are
// read again that no watch tells of.
const (
	poll   = 100 * time.Millisecond
	resync = time.Second
)

// pods are the pods of the node.
type pods struct {
	mu  sync.Mutex
	all map[types.UID]*podState
	// reporting is held while statuses are copied, so that no older one replaces a newer.
	reporting sync.Mutex
}

// podState is a pod that is bound to the node. pods.mu guards what changes.
type podState struct {
	pod   *v1.Pod // its newest version
	fixed *fixed  // nil until it is written
	// written is the version that podctl has been told, nil if none; documents are it and
	// its objects.
	written   *v1.Pod
	documents []document
	// terminating: it is being stopped, and podctl is told of no further change. grace is
	// the shortest one, in seconds.
	terminating bool
	grace       int64
	// stopped: its manifest is removed.
	stopped bool
	// reported is the status of podctl's that was copied last.
	reported v1.PodStatus
}

// syncPods writes what podctl is to run whenever that changes, until ctx ends.
func (b *bridge) syncPods(ctx context.Context, wake <-chan struct{}) {
	written := directory{path: b.manifests}
	for {
		bound, _ := b.bound.List(labels.Everything()) // a lister of memory does not fail
		b.track(ctx, bound)
		if err := written.update(b.desired()); err != nil {
			b.log.Error("write manifests", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-time.After(resync):
		}
	}
}

// track compares the pods that are bound to the node with those known.
func (b *bridge) track(ctx context.Context, bound []*v1.Pod) {
	b.pods.mu.Lock()
	defer b.pods.mu.Unlock()
	there := map[types.UID]bool{}
	for _, p := range bound {
		there[p.UID] = true
		s := b.pods.all[p.UID]
		if s == nil {
			s = &podState{pod: p}
			b.pods.all[p.UID] = s
			b.objects.register(p)
		} else if s.pod != p {
			b.objects.register(p)
			s.pod = p
		}
		if grace := ptr.Deref(p.DeletionGracePeriodSeconds, 0); p.DeletionTimestamp != nil && !s.stopped && (!s.terminating || grace < s.grace) {
			first := !s.terminating
			s.terminating, s.grace = true, grace
			go b.terminate(ctx, p, s, first)
		}
	}
	maps.DeleteFunc(b.pods.all, func(uid types.UID, s *podState) bool {
		if !there[uid] {
			b.objects.unregister(s.pod)
		}
		return !there[uid]
	})
}

// desired returns the documents that podctl is to have. Of a pod whose objects cannot be
// read they are those of before.
func (b *bridge) desired() []document {
	b.pods.mu.Lock()
	states := slices.Collect(maps.Values(b.pods.all))
	b.pods.mu.Unlock()
	var all []document
	for _, s := range states {
		all = append(all, b.documents(s)...)
	}
	return all
}

func (b *bridge) documents(s *podState) []document {
	b.pods.mu.Lock()
	p, frozen, stopped := s.pod, s.terminating, s.stopped
	b.pods.mu.Unlock()
	if stopped {
		return nil
	}
	if frozen {
		return s.documents
	}
	found, err := b.objects.of(p)
	if err != nil {
		b.log.Warn("read objects", "pod", p.Namespace+"/"+p.Name, "err", err)
		return s.documents
	}
	if s.fixed == nil {
		s.fixed = b.fix(p)
	}
	b.pods.mu.Lock()
	defer b.pods.mu.Unlock()
	if !s.terminating {
		s.documents, s.written = append(found, podDocument(p, *s.fixed)), p
	}
	return s.documents
}

// terminate stops a pod with the grace period of its deletion and, the first time, takes
// it off the API server once podctl has no more of it.
func (b *bridge) terminate(ctx context.Context, p *v1.Pod, s *podState, first bool) {
	b.pods.mu.Lock()
	written, grace := s.written, s.grace
	b.pods.mu.Unlock()
	if written != nil {
		b.waitUntilRead(ctx, written)
		if err := b.podctl.Stop(ctx, p.Namespace, p.Name, &grace); err != nil {
			b.log.Info("stop", "pod", p.Namespace+"/"+p.Name, "err", err) // it does not run, or was never valid
		}
	}
	if !first {
		return
	}
	if err := b.reportStatuses(ctx); err != nil {
		b.log.Warn("report statuses", "err", err)
	}
	b.pods.mu.Lock()
	s.stopped = true
	b.pods.mu.Unlock()
	_ = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		_, err := b.podctl.Pod(ctx, p.UID)
		return errors.Is(err, control.ErrNotFound), nil
	})
	err := b.api.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &p.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		b.log.Error("delete", "pod", p.Namespace+"/"+p.Name, "err", err)
	}
}

// readTimeout is how long podctl may take to read a manifest. One that it refuses it
// never has.
const readTimeout = 3 * time.Second

// waitUntilRead waits until podctl has read what was written of a pod: a pod that is
// stopped begins again with a change that is read afterwards.
func (b *bridge) waitUntilRead(ctx context.Context, p *v1.Pod) {
	err := wait.PollUntilContextTimeout(ctx, poll, readTimeout, true, func(ctx context.Context) (bool, error) {
		now, err := b.podctl.Pod(ctx, p.UID)
		return err == nil && now.Generation == p.Generation &&
			equality.Semantic.DeepEqual(now.Labels, p.Labels) && equality.Semantic.DeepEqual(now.Annotations, p.Annotations), nil
	})
	if err != nil {
		b.log.Warn("podctl has not read the manifest", "pod", p.Namespace+"/"+p.Name, "generation", p.Generation)
	}
}
