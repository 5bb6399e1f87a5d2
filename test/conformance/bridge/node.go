package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/nodedeclaredfeatures/features/inplacepodresize"
	"k8s.io/component-helpers/nodedeclaredfeatures/features/restartallcontainers"
	"k8s.io/kubernetes/pkg/kubelet/envvars"
	"k8s.io/utils/ptr"
)

// The periods in which a kubelet renews its Lease, and reports its status unasked.
const (
	leasePeriod  = 10 * time.Second
	statusPeriod = 5 * time.Minute
	leaseTime    = 40 // seconds
)

// declaredFeatures are those of a kubelet with default settings that podctl has, too, in
// alphabetical order. Pods that need one are scheduled to no other node.
var declaredFeatures = []string{
	inplacepodresize.PodLevelResourcesResizeFeature.Name(),
	inplacepodresize.NonSidecarInitContainerResizeFeature.Name(),
	restartallcontainers.Feature.Name(),
}

// register adds the Node to the API server.
func (b *bridge) register(ctx context.Context) error {
	labels := map[string]string{v1.LabelHostname: b.node, v1.LabelOSStable: runtime.GOOS, v1.LabelArchStable: runtime.GOARCH}
	_, err := b.api.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.node, Labels: labels}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// keepNode renews the Lease and the status of the Node, until ctx ends. What fails is
// tried again soon.
func (b *bridge) keepNode(ctx context.Context) {
	var reported time.Time
	for ctx.Err() == nil {
		next := leasePeriod
		err := b.renewLease(ctx)
		if err == nil && time.Since(reported) >= statusPeriod {
			if err = b.reportNode(ctx); err == nil {
				reported = time.Now()
			}
		}
		if err != nil {
			b.log.Warn("renew the node", "err", err)
			next = time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(next):
		}
	}
}

func (b *bridge) renewLease(ctx context.Context) error {
	leases, now := b.api.CoordinationV1().Leases(v1.NamespaceNodeLease), metav1.NowMicro()
	lease, err := leases.Get(ctx, b.node, metav1.GetOptions{})
	if err == nil {
		lease.Spec.RenewTime = &now
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	n, err := b.api.CoreV1().Nodes().Get(ctx, b.node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, err = leases.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: b.node, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &b.node, LeaseDurationSeconds: ptr.To[int32](leaseTime), RenewTime: &now},
	}, metav1.CreateOptions{})
	return err
}

// reportNode writes the status of the Node: what podctl has to give, and what the
// runtime can.
func (b *bridge) reportNode(ctx context.Context) error {
	n, err := b.api.CoreV1().Nodes().Get(ctx, b.node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	own, err := b.podctl.Node(ctx)
	if err != nil {
		return err
	}
	can, err := b.runtime.Status(ctx)
	if err != nil {
		return err
	}
	s := &n.Status
	s.Allocatable = own.Status.Allocatable
	s.Capacity = s.Allocatable.DeepCopy()
	s.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: b.address}, {Type: v1.NodeHostName, Address: b.node}}
	s.DaemonEndpoints.KubeletEndpoint.Port = int32(b.port)
	s.NodeInfo.OperatingSystem, s.NodeInfo.Architecture, s.NodeInfo.KubeletVersion = runtime.GOOS, runtime.GOARCH, b.version
	s.NodeInfo.ContainerRuntimeVersion = fmt.Sprintf("%s://%s", b.runtime.Connected().Name, b.runtime.Connected().Version)
	s.DeclaredFeatures = declaredFeatures
	s.Features = &v1.NodeFeatures{SupplementalGroupsPolicy: &can.SupplementalGroupsPolicy}
	s.RuntimeHandlers = nil
	for _, h := range can.Handlers {
		s.RuntimeHandlers = append(s.RuntimeHandlers, v1.NodeRuntimeHandler{Name: h.Name, Features: &v1.NodeRuntimeHandlerFeatures{
			RecursiveReadOnlyMounts: &h.RecursiveReadOnlyMounts, UserNamespaces: &h.UserNamespaces,
		}})
	}
	setCondition(s, v1.NodeMemoryPressure, v1.ConditionFalse, "KubeletHasSufficientMemory")
	setCondition(s, v1.NodeDiskPressure, v1.ConditionFalse, "KubeletHasNoDiskPressure")
	setCondition(s, v1.NodePIDPressure, v1.ConditionFalse, "KubeletHasSufficientPID")
	setCondition(s, v1.NodeReady, v1.ConditionTrue, "KubeletReady")
	_, err = b.api.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{})
	return err
}

func setCondition(s *v1.NodeStatus, kind v1.NodeConditionType, status v1.ConditionStatus, reason string) {
	now := metav1.Now()
	i := slices.IndexFunc(s.Conditions, func(c v1.NodeCondition) bool { return c.Type == kind })
	if i < 0 {
		s.Conditions = append(s.Conditions, v1.NodeCondition{Type: kind})
		i = len(s.Conditions) - 1
	}
	c := &s.Conditions[i]
	if c.Status != status {
		c.LastTransitionTime = now
	}
	c.Status, c.Reason, c.LastHeartbeatTime = status, reason, now
}

// fix returns what a cluster knows of a pod now.
func (b *bridge) fix(p *v1.Pod) *fixed {
	f := &fixed{services: b.serviceVariables(p)}
	if class, err := b.classes.Get(ptr.Deref(p.Spec.RuntimeClassName, "")); err == nil {
		f.handler = &class.Handler
	}
	return f
}

// serviceVariables returns the variables of the services that a kubelet shows to a pod
// (getServiceEnvVarMap in pkg/kubelet/kubelet_pods.go).
func (b *bridge) serviceVariables(p *v1.Pod) []v1.EnvVar {
	all, _ := b.services.List(labels.Everything()) // a lister of memory does not fail
	var shown []*v1.Service
	for _, s := range all {
		if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == v1.ClusterIPNone {
			continue
		}
		if s.Namespace == metav1.NamespaceDefault && s.Name == "kubernetes" || s.Namespace == p.Namespace && ptr.Deref(p.Spec.EnableServiceLinks, true) {
			shown = append(shown, s)
		}
	}
	slices.SortFunc(shown, func(a, b *v1.Service) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return envvars.FromServices(shown)
}
