package main

import (
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/configmap"
	"k8s.io/kubernetes/pkg/kubelet/secret"
	"k8s.io/kubernetes/pkg/kubelet/token"
)

// objects are the ConfigMaps, Secrets and tokens of the node's pods, as a kubelet has
// them: only what a registered pod refers to is watched, and tokens are renewed.
type objects struct {
	configMaps configmap.Manager
	secrets    secret.Manager
	tokens     *token.Manager
}

func newObjects(api kubernetes.Interface) *objects {
	return &objects{
		configMaps: configmap.NewWatchingConfigMapManager(api, 0),
		secrets:    secret.NewWatchingSecretManager(api, 0),
		tokens:     token.NewManager(api),
	}
}

func (o *objects) register(p *v1.Pod) {
	o.configMaps.RegisterPod(p)
	o.secrets.RegisterPod(p)
}

func (o *objects) unregister(p *v1.Pod) {
	o.configMaps.UnregisterPod(p)
	o.secrets.UnregisterPod(p)
	o.tokens.DeleteServiceAccountToken(p.UID)
}

// of returns the objects that a registered pod refers to and that exist.
func (o *objects) of(p *v1.Pod) ([]document, error) {
	var found []document
	var problems []error
	exists := func(err error) bool {
		if err != nil && !apierrors.IsNotFound(err) {
			problems = append(problems, err)
		}
		return err == nil
	}
	podutil.VisitPodConfigmapNames(p, func(name string) bool {
		if c, err := o.configMaps.GetConfigMap(p.Namespace, name); exists(err) {
			found = append(found, configMapDocument(c))
		}
		return true
	})
	podutil.VisitPodSecretNames(p, func(name string) bool {
		if s, err := o.secrets.GetSecret(p.Namespace, name); exists(err) {
			found = append(found, secretDocument(s))
		}
		return true
	})
	for _, t := range tokenSources(p) {
		if s, err := o.tokenSecret(p, t); exists(err) {
			found = append(found, secretDocument(s))
		}
	}
	return found, errors.Join(problems...)
}

// tokenSecret returns a Secret that holds a service account token of a pod.
func (o *objects) tokenSecret(p *v1.Pod, t tokenSource) (*v1.Secret, error) {
	source := p.Spec.Volumes[t.volume].Projected.Sources[t.source].ServiceAccountToken
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: source.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID},
	}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	granted, err := o.tokens.GetServiceAccountToken(p.Namespace, p.Spec.ServiceAccountName, request)
	if err != nil {
		return nil, fmt.Errorf("token of %s/%s: %w", p.Namespace, p.Name, err)
	}
	return &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: t.secretName(p)}, Type: v1.SecretTypeOpaque,
		Data: map[string][]byte{v1.ServiceAccountTokenKey: []byte(granted.Status.Token)},
	}, nil
}
