package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

const configured = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: v, configMap: {name: app}}]
  containers:
  - {name: c, image: "busybox:1", command: [sh, -c, 'sleep 1000'], volumeMounts: [{name: v, mountPath: /v}]}
`

// config is the ConfigMap app, with one key.
func config(value string, immutable bool) *pod.Objects {
	return &pod.Objects{ConfigMaps: map[types.NamespacedName]*v1.ConfigMap{
		{Namespace: "default", Name: "app"}: {Data: map[string]string{"key": value}, Immutable: &immutable},
	}}
}

// fileOf is what the pod's container sees at /v/key; "" for nothing.
func (w *world) fileOf(uid types.UID) string {
	b, _ := os.ReadFile(filepath.Join(w.root, "pods", string(uid), "volumes/kubernetes.io~configmap/v/key"))
	return string(b)
}

// A Secret that is immutable stays as it was, as a ConfigMap does.
func TestImmutableSecretStays(t *testing.T) {
	name, yes := types.NamespacedName{Namespace: "default", Name: "s"}, true
	secret := func(value string, immutable *bool) *pod.Objects {
		return &pod.Objects{Secrets: map[types.NamespacedName]*v1.Secret{name: {Data: map[string][]byte{"key": []byte(value)}, Immutable: immutable}}}
	}
	for want, before := range map[string]*pod.Objects{"one": secret("one", &yes), "two": secret("one", nil)} {
		if got := string(keepImmutable(before, secret("two", nil)).Secrets[name].Data["key"]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestPodFollowsItsObjects: it waits for one that is missing, and
// shows what one has become as soon as it is known, without its containers
// being touched. An immutable one stays as it was until it has been absent.
func TestPodFollowsItsObjects(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("one", configured)
		set := func(o *pod.Objects) {
			p.Set(testSource, desire(t, configured), o)
			synctest.Wait()
		}
		p.until("web", "waiting", func(i Info) bool { return !i.LastError.IsZero() })
		p.mu.Lock()
		said := p.events[len(p.events)-1]
		p.mu.Unlock()
		if said.Reason != "FailedMount" || !said.Warning || said.Message != `MountVolume.SetUp failed for volume "v" : configmap "app" not found` {
			t.Errorf("it says %+v", said)
		}
		if calls := w.calls(); len(calls) > 0 {
			t.Errorf("before it has its volumes: %v", calls)
		}

		set(config("one", false))
		uid := p.until("web", "running", running).Pod.UID
		if got := w.fileOf(uid); got != "one" {
			t.Errorf("the file is %q", got)
		}
		calls := len(w.calls())
		for _, step := range []struct {
			what    string
			objects *pod.Objects
			want    string
		}{
			{"changed", config("two", false), "two"},
			{"gone", nil, "two"},
			{"immutable from now on", config("three", true), "three"},
			{"changed although immutable", config("four", false), "three"},
			{"gone again", nil, "three"},
			{"made again", config("five", false), "five"},
		} {
			asked := time.Now()
			set(step.objects)
			if got := w.fileOf(uid); got != step.want {
				t.Errorf("%s: the file is %q after %s, want %q", step.what, got, time.Since(asked), step.want)
			}
		}
		if now := w.calls(); len(now) != calls {
			t.Errorf("containers were touched: %v", now[calls:])
		}
		p.drain()
		w.empty()
	})
}

func TestChangedObjectSyncsOnlyItsPods(t *testing.T) {
	before, after := config("one", false), config("two", false)
	p := desire(t, configured)[0].Pod
	if !changedObjects(before, after).concerns(p) || !changedObjects(before, &pod.Objects{}).concerns(p) || !changedObjects(&pod.Objects{}, before).concerns(p) {
		t.Error("the pod uses it, and is not concerned")
	}
	if changedObjects(before, config("one", false)).concerns(p) {
		t.Error("it is the same")
	}
	elsewhere := p.DeepCopy()
	elsewhere.Namespace = "other"
	unused := p.DeepCopy()
	unused.Spec.Volumes = nil
	for _, q := range []*v1.Pod{elsewhere, unused} {
		if changedObjects(before, after).concerns(q) {
			t.Errorf("%s/%s does not use it", q.Namespace, q.Name)
		}
	}
}

// TestContainerStartsOnceItsConfigMapExists: until then it waits for
// it with the kubelet's reason and words.
func TestContainerStartsOnceItsConfigMapExists(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := strings.Replace(podYAML("web", "sleep 1000", "terminationGracePeriodSeconds: 1"),
			"command:", "env: [{name: KEY, valueFrom: {configMapKeyRef: {name: app, key: key}}}], command:", 1)
		p := w.podctl("one", web)
		waiting := func(message string) func(Info) bool {
			return func(i Info) bool {
				if len(i.Status.ContainerStatuses) == 0 {
					return false
				}
				now := i.Status.ContainerStatuses[0].State.Waiting
				return now != nil && now.Reason == "CreateContainerConfigError" && now.Message == message
			}
		}
		p.until("web", "waiting for the ConfigMap", waiting(`configmap "app" not found`))
		other := &pod.Objects{ConfigMaps: map[types.NamespacedName]*v1.ConfigMap{{Namespace: "default", Name: "app"}: {}}}
		p.Set(testSource, desire(t, web), other)
		p.until("web", "waiting for the key", waiting("couldn't find key key in ConfigMap default/app"))
		asked := time.Now()
		p.Set(testSource, desire(t, web), config("one", false))
		p.until("web", "running", running)
		if took := time.Since(asked); took > time.Second {
			t.Errorf("it started after %s", took)
		}
		p.drain()
		w.empty()
	})
}
