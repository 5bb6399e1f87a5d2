package main

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// document is an object of a manifest.
type document map[string]any

// fixed is what only a cluster knows of a pod, as it was when the pod was first written:
// a kubelet gives a container what it finds at its start, and a pod with other variables
// or another handler would be another pod.
type fixed struct {
	services []v1.EnvVar
	// handler is that of the pod's RuntimeClass, nil without one.
	handler *string
}

// podDocument returns a pod of the API server as podctl is to run it: with what a
// cluster knows, and without what belongs to it alone. Secrets stand for its service
// account tokens.
func podDocument(p *v1.Pod, f fixed) document {
	p = p.DeepCopy()
	for _, t := range tokenSources(p) {
		source := &p.Spec.Volumes[t.volume].Projected.Sources[t.source]
		*source = v1.VolumeProjection{Secret: &v1.SecretProjection{
			LocalObjectReference: v1.LocalObjectReference{Name: t.secretName(p)},
			Items:                []v1.KeyToPath{{Key: v1.ServiceAccountTokenKey, Path: source.ServiceAccountToken.Path}},
		}}
	}
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			list[i].Env = withServices(list[i].Env, f.services)
		}
	}
	for i := range p.Spec.EphemeralContainers {
		p.Spec.EphemeralContainers[i].Env = withServices(p.Spec.EphemeralContainers[i].Env, f.services)
	}
	if f.handler != nil {
		p.Spec.RuntimeClassName = f.handler
	}
	return document{
		"apiVersion": "v1", "kind": "Pod", "spec": p.Spec,
		"metadata": metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, Generation: p.Generation, Labels: p.Labels, Annotations: p.Annotations,
		},
	}
}

// withServices puts the variables of services that a container does not have itself
// before its own, as the kubelet does.
func withServices(own, services []v1.EnvVar) []v1.EnvVar {
	var all []v1.EnvVar
	for _, e := range services {
		if !slices.ContainsFunc(own, func(o v1.EnvVar) bool { return o.Name == e.Name }) {
			all = append(all, e)
		}
	}
	return append(all, own...)
}

// tokenSource is the place of a service account token among a pod's volumes.
type tokenSource struct{ volume, source int }

// tokenSources returns the service account tokens of a pod.
func tokenSources(p *v1.Pod) []tokenSource {
	var found []tokenSource
	for i, v := range p.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for j, s := range v.Projected.Sources {
			if s.ServiceAccountToken != nil {
				found = append(found, tokenSource{i, j})
			}
		}
	}
	return found
}

// secretName is the name of the Secret that stands for a token.
func (t tokenSource) secretName(p *v1.Pod) string {
	return fmt.Sprintf("token-%d-%d-%s", t.volume, t.source, p.UID)
}

func configMapDocument(o *v1.ConfigMap) document {
	return document{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		"data": o.Data, "binaryData": o.BinaryData, "immutable": o.Immutable,
	}
}

func secretDocument(o *v1.Secret) document {
	return document{
		"apiVersion": "v1", "kind": "Secret", "metadata": metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		"data": o.Data, "type": o.Type, "immutable": o.Immutable,
	}
}
