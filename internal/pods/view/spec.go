package view

import (
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/secret"
)

// readSpec returns what the spec says about the whole pod.
func readSpec(p *v1.Pod, from string) *Spec {
	s := &Spec{
		From: from, QOS: string(pod.QOS(p)), Priority: p.Spec.Priority, RestartPolicy: string(p.Spec.RestartPolicy),
		GraceSeconds: p.Spec.TerminationGracePeriodSeconds, Deadline: p.Spec.ActiveDeadlineSeconds,
		HostNetwork: p.Spec.HostNetwork, HostPID: p.Spec.HostPID, Node: p.Spec.NodeName,
	}
	if p.Spec.RuntimeClassName != nil {
		s.RuntimeClass = *p.Spec.RuntimeClassName
	}
	for _, gate := range p.Spec.ReadinessGates {
		s.ReadinessGates = append(s.ReadinessGates, string(gate.ConditionType))
	}
	return s
}

// specContainers returns the containers of the spec: init containers, the regular
// ones, and those that were added for debugging.
func specContainers(p *v1.Pod) []Container {
	var all []Container
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		kind := KindInit
		if pod.IsSidecar(c) {
			kind = KindSidecar
		}
		all = append(all, specContainer(c, kind))
	}
	for i := range p.Spec.Containers {
		all = append(all, specContainer(&p.Spec.Containers[i], KindRegular))
	}
	for i := range p.Spec.EphemeralContainers {
		c := v1.Container(p.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		all = append(all, specContainer(&c, KindEphemeral))
	}
	return all
}

func specContainer(c *v1.Container, kind ContainerKind) Container {
	to := Container{
		Name: c.Name, Kind: kind, Image: c.Image, State: Waiting, Command: c.Command, Args: c.Args,
		Requests: amounts(c.Resources.Requests), Limits: amounts(c.Resources.Limits),
	}
	isSecret := secret.NamesOf(c)
	for _, e := range c.EnvFrom {
		switch {
		case e.ConfigMapRef != nil:
			to.Env = append(to.Env, Env{Name: e.Prefix + "*", From: "configmap " + e.ConfigMapRef.Name})
		case e.SecretRef != nil:
			to.Env = append(to.Env, Env{Name: e.Prefix + "*", From: "secret " + e.SecretRef.Name})
		}
	}
	for _, e := range c.Env {
		to.Env = append(to.Env, Env{Name: e.Name, Value: masked(e.Value, isSecret(e.Name)), From: valueFrom(e.ValueFrom)})
	}
	for _, p := range c.Ports {
		text := fmt.Sprintf("%d/%s", p.ContainerPort, p.Protocol)
		if p.HostPort != 0 {
			text += fmt.Sprintf(" (host %s:%d)", p.HostIP, p.HostPort)
		}
		to.Ports = append(to.Ports, text)
	}
	for _, m := range c.VolumeMounts {
		to.Mounts = append(to.Mounts, Mount{Path: m.MountPath, Volume: m.Name, ReadOnly: m.ReadOnly})
	}
	for _, p := range []struct {
		kind  ProbeType
		probe *v1.Probe
	}{{StartupProbe, c.StartupProbe}, {LivenessProbe, c.LivenessProbe}, {ReadinessProbe, c.ReadinessProbe}} {
		if p.probe != nil {
			to.Probes = append(to.Probes, Probe{Type: p.kind, Handler: handlerText(p.probe.ProbeHandler), Period: p.probe.PeriodSeconds})
		}
	}
	if c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
		to.PostStart = hookText(c.Lifecycle.PostStart)
	}
	return to
}

func masked(value string, isSecret bool) string {
	if value == "" || !isSecret {
		return value
	}
	return secret.Placeholder
}

func amounts(list v1.ResourceList) map[string]string {
	if len(list) == 0 {
		return nil
	}
	to := map[string]string{}
	for name, amount := range list {
		to[string(name)] = amount.String()
	}
	return to
}

// valueFrom says where the value of a variable comes from.
func valueFrom(s *v1.EnvVarSource) string {
	switch {
	case s == nil:
		return ""
	case s.SecretKeyRef != nil:
		return fmt.Sprintf("secret %s key %s", s.SecretKeyRef.Name, s.SecretKeyRef.Key)
	case s.ConfigMapKeyRef != nil:
		return fmt.Sprintf("configmap %s key %s", s.ConfigMapKeyRef.Name, s.ConfigMapKeyRef.Key)
	case s.FieldRef != nil:
		return "field " + s.FieldRef.FieldPath
	case s.ResourceFieldRef != nil:
		return "resource " + s.ResourceFieldRef.Resource
	case s.FileKeyRef != nil:
		return fmt.Sprintf("file %s of volume %s, key %s", s.FileKeyRef.Path, s.FileKeyRef.VolumeName, s.FileKeyRef.Key)
	}
	return "unknown source"
}

func hookText(h *v1.LifecycleHandler) string {
	if h.Sleep != nil {
		return fmt.Sprintf("sleep %ds", h.Sleep.Seconds)
	}
	return handlerText(v1.ProbeHandler{Exec: h.Exec, HTTPGet: h.HTTPGet, TCPSocket: h.TCPSocket})
}

func handlerText(h v1.ProbeHandler) string {
	switch {
	case h.HTTPGet != nil:
		scheme := strings.ToLower(string(h.HTTPGet.Scheme))
		if scheme == "" {
			scheme = "http"
		}
		return fmt.Sprintf("%s-get %s:%s%s", scheme, h.HTTPGet.Host, h.HTTPGet.Port.String(), h.HTTPGet.Path)
	case h.TCPSocket != nil:
		return fmt.Sprintf("tcp-socket %s:%s", h.TCPSocket.Host, h.TCPSocket.Port.String())
	case h.GRPC != nil:
		return "grpc :" + strconv.Itoa(int(h.GRPC.Port))
	case h.Exec != nil:
		return "exec " + strings.Join(h.Exec.Command, " ")
	}
	return "unknown"
}

// specVolumes returns the volumes and what they are made from.
func specVolumes(p *v1.Pod) []Volume {
	var all []Volume
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		kind, source := volumeSource(&v.VolumeSource)
		all = append(all, Volume{Name: v.Name, Kind: kind, Source: source})
		if v.HostPath != nil && v.HostPath.Type != nil {
			all[i].Type = string(*v.HostPath.Type)
		}
	}
	return all
}

func volumeSource(v *v1.VolumeSource) (kind, source string) {
	switch {
	case v.ConfigMap != nil:
		return "configMap", v.ConfigMap.Name
	case v.Secret != nil:
		return "secret", v.Secret.SecretName
	case v.EmptyDir != nil:
		source = string(v.EmptyDir.Medium)
		if v.EmptyDir.SizeLimit != nil {
			source = strings.TrimSpace(source + " up to " + v.EmptyDir.SizeLimit.String())
		}
		return "emptyDir", source
	case v.HostPath != nil:
		return "hostPath", v.HostPath.Path
	case v.PersistentVolumeClaim != nil:
		return "persistentVolumeClaim", v.PersistentVolumeClaim.ClaimName
	case v.Projected != nil:
		return "projected", projectedSources(v.Projected)
	case v.DownwardAPI != nil:
		return "downwardAPI", ""
	case v.Image != nil:
		return "image", v.Image.Reference
	case v.NFS != nil:
		return "nfs", v.NFS.Server + ":" + v.NFS.Path
	case v.CSI != nil:
		return "csi", v.CSI.Driver
	case v.Ephemeral != nil:
		return "ephemeral", ""
	}
	return "other", ""
}

func projectedSources(p *v1.ProjectedVolumeSource) string {
	var parts []string
	for _, s := range p.Sources {
		switch {
		case s.ConfigMap != nil:
			parts = append(parts, "configMap "+s.ConfigMap.Name)
		case s.Secret != nil:
			parts = append(parts, "secret "+s.Secret.Name)
		case s.ServiceAccountToken != nil:
			parts = append(parts, "serviceAccountToken")
		case s.DownwardAPI != nil:
			parts = append(parts, "downwardAPI")
		case s.ClusterTrustBundle != nil:
			parts = append(parts, "clusterTrustBundle")
		}
	}
	return strings.Join(parts, ", ")
}
