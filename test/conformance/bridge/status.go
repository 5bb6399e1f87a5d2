package main

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
)

// copyStatuses copies the statuses of podctl's pods to the API server, until ctx ends.
func (b *bridge) copyStatuses(ctx context.Context) {
	for ctx.Err() == nil {
		if err := b.reportStatuses(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("report statuses", "err", err)
		}
		time.Sleep(poll)
	}
}

// reportStatuses copies the statuses that have changed. One that cannot be copied is
// copied the next time.
func (b *bridge) reportStatuses(ctx context.Context) error {
	b.pods.reporting.Lock()
	defer b.pods.reporting.Unlock()
	list, err := b.podctl.Pods(ctx)
	if err != nil {
		return err
	}
	for i := range list.Items {
		p := &list.Items[i]
		b.pods.mu.Lock()
		s := b.pods.all[p.UID]
		var stored *v1.Pod
		if s != nil && !s.terminating {
			stored = s.pod
		}
		b.pods.mu.Unlock()
		if stored != nil {
			b.setConditions(ctx, stored, p)
		}
		// A kubelet reports a pod from its first sync on.
		if s == nil || p.Status.StartTime == nil && p.Status.Phase == v1.PodPending || equality.Semantic.DeepEqual(s.reported, p.Status) {
			continue
		}
		switch err := b.report(ctx, p); {
		case err == nil:
			s.reported = p.Status // reporting is held
		case !apierrors.IsConflict(err) && !apierrors.IsNotFound(err):
			b.log.Warn("report status", "pod", p.Namespace+"/"+p.Name, "err", err)
		}
	}
	return nil
}

// setConditions tells podctl of the conditions that others have set, such as readiness
// gates.
func (b *bridge) setConditions(ctx context.Context, stored, p *v1.Pod) {
	for _, c := range changedConditions(stored.Status.Conditions, p.Status.Conditions) {
		if err := b.podctl.SetCondition(ctx, p.Namespace, p.Name, c); err != nil {
			b.log.Info("set condition", "pod", p.Namespace+"/"+p.Name, "type", c.Type, "err", err) // it has ended
		}
	}
}

// changedConditions returns the conditions of others that podctl has not as the API server
// has them, without a status where the API server has none.
func changedConditions(stored, podctl []v1.PodCondition) []v1.PodCondition {
	var changed []v1.PodCondition
	for _, c := range stored {
		if ofOthers(c) && !slices.ContainsFunc(podctl, func(o v1.PodCondition) bool { return o.Type == c.Type && o.Status == c.Status }) {
			changed = append(changed, c)
		}
	}
	for _, c := range podctl {
		if ofOthers(c) && !has(stored, c.Type) {
			changed = append(changed, v1.PodCondition{Type: c.Type})
		}
	}
	return changed
}

func ofOthers(c v1.PodCondition) bool {
	return !kubetypes.PodConditionByKubelet(c.Type) && !kubetypes.PodConditionSharedByKubelet(c.Type)
}

func has(all []v1.PodCondition, kind v1.PodConditionType) bool {
	return slices.ContainsFunc(all, func(c v1.PodCondition) bool { return c.Type == kind })
}

func (b *bridge) report(ctx context.Context, p *v1.Pod) error {
	api := b.api.CoreV1().Pods(p.Namespace)
	stored, err := api.Get(ctx, p.Name, metav1.GetOptions{})
	if err != nil || stored.UID != p.UID {
		return err
	}
	next := stored.DeepCopy()
	next.Status = merge(stored, p.Status)
	if equality.Semantic.DeepEqual(stored.Status, next.Status) {
		return nil
	}
	_, err = api.UpdateStatus(ctx, next, metav1.UpdateOptions{})
	return err
}

// merge returns podctl's status with what others have written into that of the API
// server (mergePodStatus in pkg/kubelet/status/status_manager.go).
func merge(stored *v1.Pod, s v1.PodStatus) v1.PodStatus {
	s = *s.DeepCopy()
	own := slices.DeleteFunc(s.Conditions, ofOthers)
	others := slices.DeleteFunc(slices.Clone(stored.Status.Conditions), func(c v1.PodCondition) bool {
		return kubetypes.PodConditionByKubelet(c.Type) || has(own, c.Type)
	})
	s.Conditions = append(others, own...)
	if stored.DeletionTimestamp != nil {
		s.ObservedGeneration = stored.Generation // of the deletion, which podctl saw as a stop
	}
	s.QOSClass, s.NominatedNodeName = stored.Status.QOSClass, stored.Status.NominatedNodeName
	s.ResourceClaimStatuses, s.ExtendedResourceClaimStatus = stored.Status.ResourceClaimStatuses, stored.Status.ExtendedResourceClaimStatus
	s.NodeAllocatableResourceClaimStatuses = stored.Status.NodeAllocatableResourceClaimStatuses
	return s
}
