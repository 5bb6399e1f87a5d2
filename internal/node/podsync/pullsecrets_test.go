package podsync_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
)

func dockerConfig(namespace, name, text string) *pod.Objects {
	return withSecret(namespace, name, v1.SecretTypeDockerConfigJson, map[string][]byte{v1.DockerConfigJsonKey: []byte(text)})
}

func pullPod(secrets ...string) *v1.Pod {
	p := imagePod("example.com/team/app:1", v1.PullIfNotPresent)
	for _, name := range secrets {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, v1.LocalObjectReference{Name: name})
	}
	return p
}

func TestPullTriesEachCredential(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.password = "right"
		p := pullPod("a", "b")
		objects := pod.Merge(
			dockerConfig(p.Namespace, "a", `{"auths": {"example.com/team": {"username": "first", "password": "old"}}}`),
			dockerConfig(p.Namespace, "b", `{"auths": {"example.com": {"username": "second", "password": "right"}, "other.com": {"username": "third"}}}`),
		)
		if _, err := syncWith(b, p, objects); err != nil {
			t.Fatal(err)
		}
		if want := []string{"first", "second"}; !slices.Equal(b.rt.users, want) {
			t.Errorf("pulled as %q, want %q", b.rt.users, want)
		}
	})
}

// The node's credentials come after the pod's own, in the kubelet's order
// (pkg/kubelet/images/image_manager.go).
func TestPullTriesNodeCredentialsAfterPodCredentials(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.password = "right"
		opt := b.opt
		var asked []string
		opt.NodeCredentials = func(_ context.Context, image string) []*runtimeapi.AuthConfig {
			asked = append(asked, image)
			return []*runtimeapi.AuthConfig{{Username: "node", Password: "old"}, {Username: "plugin", Password: "right"}}
		}
		b.syncer = podsync.New(opt)
		p := pullPod("a")
		objects := dockerConfig(p.Namespace, "a", `{"auths": {"example.com": {"username": "pod", "password": "old"}}}`)
		if _, err := syncWith(b, p, objects); err != nil {
			t.Fatal(err)
		}
		if want := []string{"pod", "node", "plugin"}; !slices.Equal(b.rt.users, want) {
			t.Errorf("pulled as %q, want %q", b.rt.users, want)
		}
		if want := []string{"example.com/team/app:1"}; !slices.Equal(asked, want) {
			t.Errorf("asked for %q, want %q", asked, want)
		}
	})
}

// Without its Secret the pull goes ahead, and may fail; it succeeds when the
// Secret appears.
func TestPullWithMissingSecretIsTried(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.password = "right"
		p := pullPod("", "s")
		res, err := syncWith(b, p, nil)
		if err == nil {
			t.Fatal("no error")
		}
		wantWaiting(t, res.Status, "ErrImagePull", "401 Unauthorized")
		if !slices.Equal(b.rt.users, []string{""}) {
			t.Errorf("pulled as %q", b.rt.users)
		}
		if n := slices.Index(b.events.reasons(), "FailedToRetrieveImagePullSecret"); n < 0 {
			t.Errorf("events %q", b.events.reasons())
		}
		retryAt(t, err)
		time.Sleep(time.Minute) // past the back-off
		if _, err := syncWith(b, p, dockerConfig(p.Namespace, "s", `{"auths": {"example.com": {"username": "u", "password": "right"}}}`)); err != nil {
			t.Errorf("with the secret: %v", err)
		}
	})
}

// A missing Secret is worth an event only where it may be why a pull failed.
func TestMissingPullSecretIsToldOnlyIfPullFails(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := pullPod("", "s")
		if _, err := syncWith(b, p, nil); err != nil {
			t.Fatal(err)
		}
		if got := b.events.reasons(); slices.Contains(got, "FailedToRetrieveImagePullSecret") {
			t.Errorf("events %q", got)
		}
	})
}

// What a Secret holds is in no status, event or error, whatever goes wrong.
func TestPullSecretIsNotPrinted(t *testing.T) {
	for _, text := range []string{
		`{"auths": {"example.com": {"username": "hunter1", "password": "hunter2"}}}`,
		`{"auths": {"example.com": {"auth": "hunter2"}}}`, `hunter2`,
	} {
		inBubble(t, func(t *testing.T, b *bench) {
			b.rt.password = "right"
			p := pullPod("s")
			res, err := syncWith(b, p, dockerConfig(p.Namespace, "s", text))
			if err == nil {
				t.Fatal("no error")
			}
			said := err.Error() + res.Status.String()
			b.events.mu.Lock()
			for _, e := range b.events.list {
				said += e.Message
			}
			b.events.mu.Unlock()
			if strings.Contains(said, "hunter") {
				t.Errorf("it tells: %s", said)
			}
			wantWaiting(t, res.Status, "ErrImagePull", "")
		})
	}
}
