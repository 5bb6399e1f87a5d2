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
		b.pods.mu.Unlock()
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
// server (mergePodStatus in pkg/kubelet/status).
func merge(stored *v1.Pod, s v1.PodStatus) v1.PodStatus {
	s = *s.DeepCopy()
	var others []v1.PodCondition
	for _, c := range stored.Status.Conditions {
		if !kubetypes.PodConditionByKubelet(c.Type) && !slices.ContainsFunc(s.Conditions, func(o v1.PodCondition) bool { return o.Type == c.Type }) {
			others = append(others, c)
		}
	}
	s.Conditions = append(others, s.Conditions...)
	if stored.DeletionTimestamp != nil {
		s.ObservedGeneration = stored.Generation // of the deletion, which podctl saw as a stop
	}
	s.QOSClass, s.NominatedNodeName = stored.Status.QOSClass, stored.Status.NominatedNodeName
	s.ResourceClaimStatuses, s.ExtendedResourceClaimStatus = stored.Status.ResourceClaimStatuses, stored.Status.ExtendedResourceClaimStatus
	s.NodeAllocatableResourceClaimStatuses = stored.Status.NodeAllocatableResourceClaimStatuses
	return s
}
