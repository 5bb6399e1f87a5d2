package podsync_test

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
)

// withSecret are objects with one Secret in the namespace of podOf.
func withSecret(namespace, name string, kind v1.SecretType, data map[string][]byte) *pod.Objects {
	return &pod.Objects{Secrets: map[types.NamespacedName]*v1.Secret{{Namespace: namespace, Name: name}: {
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: kind, Data: data,
	}}}
}

// syncWith is a sync of a pod that may refer to objects.
func syncWith(b *bench, p *v1.Pod, objects *pod.Objects) (podsync.Result, error) {
	return b.syncer.Sync(b.t.Context(), podsync.SyncInput{Pod: p, Status: b.rt.snapshot(), Objects: objects})
}

// A container whose Secret is missing waits and says so, and starts when the
// Secret appears.
func TestContainerWaitsForMissingSecret(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		p.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "s"}}}}
		var env []string
		b.rt.program = func(cfg *runtimeapi.ContainerConfig) program {
			for _, kv := range cfg.Envs {
				env = append(env, kv.Key+"="+string(kv.Value))
			}
			return program{}
		}
		res, err := syncWith(b, p, nil)
		if err == nil || !strings.Contains(err.Error(), `secret "s" not found`) {
			t.Errorf("error %v", err)
		}
		if at := retryAt(t, err); !at.IsZero() {
			t.Errorf("retry at %v; want it left to the worker", at)
		}
		wantWaiting(t, res.Status, "CreateContainerConfigError", `secret "s" not found`)
		if _, err := syncWith(b, p, withSecret(p.Namespace, "s", v1.SecretTypeOpaque, map[string][]byte{"K": []byte("v")})); err != nil {
			t.Fatal(err)
		}
		if s := b.rt.snapshot().Container("c"); s == nil || s.State != pod.Running {
			t.Errorf("the container does not run: %+v", s)
		}
		if !slices.Equal(env, []string{"K=v"}) {
			t.Errorf("environment %q", env)
		}
	})
}
