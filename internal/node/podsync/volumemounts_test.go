package podsync_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/podsync"
)

// mountBench is a bench that keeps the configs, and what is asked of the host.
type mountBench struct {
	*bench
	rec *recorder
	// bound are the parts of volumes that were mounted, bindError why none is.
	bound     []string
	bindError error
}

type bindHost struct {
	*fakeHost
	to *mountBench
}

func (h bindHost) BindSubPath(_ types.UID, volume, path, target string) error {
	h.to.bound = append(h.to.bound, volume+":"+path+" at "+strings.TrimPrefix(target, h.PodsDir()))
	return h.to.bindError
}

func inMountBubble(t *testing.T, change func(*hooks), test func(t *testing.T, b *mountBench)) {
	inBubble(t, func(t *testing.T, b *bench) {
		m := &mountBench{bench: b, rec: &recorder{fakeRuntime: b.rt}}
		b.opt.Runtime, b.opt.Volumes = m.rec, bindHost{fakeHost: b.host, to: m}
		change(b.hooks)
		b.syncer = podsync.New(b.opt)
		test(t, m)
	})
}

func podMounting(v v1.Volume, m v1.VolumeMount) *v1.Pod {
	p := podOf(v1.RestartPolicyAlways, container("c"))
	v.Name, m.Name, m.MountPath = "v", "v", "/data"
	p.Spec.Volumes = []v1.Volume{v}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{m}
	return p
}

func (b *mountBench) mount() (hostPath string) {
	for _, m := range b.rec.container.Mounts {
		if m.ContainerPath == "/data" {
			return m.HostPath
		}
	}
	return "none"
}

func asIs(*hooks) {}

func TestSubPathsAreMountedBeforeEachCreate(t *testing.T) {
	inMountBubble(t, asIs, func(t *testing.T, b *mountBench) {
		p := podMounting(v1.Volume{}, v1.VolumeMount{SubPathExpr: "logs/$(NAME)"})
		p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "NAME", Value: "web"}}
		b.mustSync(p)
		const target = "/" + string(testUID) + "/volume-subpaths/v/c/0"
		if want := []string{"/volumes/v:logs/web at " + target}; !slices.Equal(b.bound, want) {
			t.Errorf("mounted %q, want %q", b.bound, want)
		}
		if got, want := b.mount(), b.host.PodsDir()+target; got != want {
			t.Errorf("the runtime mounts %s, want %s", got, want)
		}
	})
}

func TestSubPathMountFailureIsConfigError(t *testing.T) {
	inMountBubble(t, asIs, func(t *testing.T, b *mountBench) {
		b.bindError = errors.New(`failed to prepare subPath for volumeMount "v" of container "c"`)
		res, err := b.sync(podMounting(v1.Volume{}, v1.VolumeMount{SubPath: "d"}))
		if err == nil {
			t.Error("no error")
		}
		wantWaiting(t, res.Status, "CreateContainerConfigError", b.bindError.Error())
		wantCalls(t, b.bench, "RunPodSandbox")
		b.bindError = nil
		b.mustSync(podMounting(v1.Volume{}, v1.VolumeMount{SubPath: "d"}))
		wantCalls(t, b.bench, "RunPodSandbox", "CreateContainer c#0", "StartContainer c")
	})
}

func TestRecursiveReadOnlyNeedsHandlerSupport(t *testing.T) {
	mode := v1.RecursiveReadOnlyEnabled
	p := podMounting(v1.Volume{}, v1.VolumeMount{ReadOnly: true, RecursiveReadOnly: &mode})
	features := func(able bool, err error) func(*hooks) {
		return func(h *hooks) {
			h.handler = "kata"
			h.features = func(handler string) (podsync.Features, error) {
				return podsync.Features{RecursiveReadOnly: able && handler == "kata"}, err
			}
		}
	}
	inMountBubble(t, features(true, nil), func(t *testing.T, b *mountBench) {
		b.mustSync(p)
		if !slices.ContainsFunc(b.rec.container.Mounts, func(m *runtimeapi.Mount) bool { return m.RecursiveReadOnly }) {
			t.Error("no mount is read-only recursively")
		}
	})
	for name, change := range map[string]func(*hooks){"cannot": features(false, nil), "unknown": features(false, errors.New("not known")), "untold": asIs} {
		t.Run(name, func(t *testing.T) {
			inMountBubble(t, change, func(t *testing.T, b *mountBench) {
				res, _ := b.sync(p)
				wantWaiting(t, res.Status, "CreateContainerConfigError",
					`failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is not supported by the runtime`)
			})
		})
	}
}

func TestImageVolumesArePulledBeforeTheContainersThatMountThem(t *testing.T) {
	image := v1.Volume{VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "example.com/data:1", PullPolicy: v1.PullIfNotPresent}}}
	inMountBubble(t, func(h *hooks) { h.handler = "kata" }, func(t *testing.T, b *mountBench) {
		p := podMounting(image, v1.VolumeMount{SubPath: "etc"})
		p.Annotations = map[string]string{"a": "b"}
		b.mustSync(p)
		wantCalls(t, b.bench, "RunPodSandbox", "PullImage example.com/data:1", "CreateContainer c#0", "StartContainer c")
		m := b.rec.container.Mounts[0]
		if m.Image.GetImage() != "sha256:pulled" || m.Image.UserSpecifiedImage != "example.com/data:1" || m.Image.RuntimeHandler != "kata" ||
			m.Image.Annotations["a"] != "b" || m.ImageSubPath != "etc" || m.HostPath != "" || !m.Readonly {
			t.Errorf("mount %v", m)
		}
		if len(b.bound) > 0 {
			t.Errorf("mounted %q: the part of an image is the runtime's business", b.bound)
		}
	})
	inMountBubble(t, asIs, func(t *testing.T, b *mountBench) {
		b.rt.pullError = errors.New("no such image")
		p := podMounting(image, v1.VolumeMount{})
		other := p.Spec.Containers[0]
		other.Name, other.VolumeMounts = "without", nil
		p.Spec.Containers = append(p.Spec.Containers, other)
		res, err := b.sync(p)
		wantWaiting(t, res.Status, "ErrImagePull", "no such image")
		if err == nil {
			t.Error("no error")
		}
		wantCalls(t, b.bench, "RunPodSandbox", "PullImage example.com/data:1", "CreateContainer without#0", "StartContainer without")
		res, err = b.sync(p)
		wantWaiting(t, res.Status, "ImagePullBackOff", `Back-off pulling image "example.com/data:1": ErrImagePull: no such image`)
		if at := retryAt(t, err); at.IsZero() {
			t.Error("the error does not say when the back-off ends")
		}
	})
}

func TestUserNamespaceNeedsHandlerSupport(t *testing.T) {
	p := podMounting(v1.Volume{}, v1.VolumeMount{})
	p.Spec.HostUsers = new(false)
	options := func(handler string, able bool, idsError error) func(*hooks) {
		return func(h *hooks) {
			h.handler = handler
			h.features = func(string) (podsync.Features, error) {
				return podsync.Features{UserNamespaces: able}, nil
			}
			h.userIDs = func(types.UID) (uint32, uint32, error) { return 131072, 65536, idsError }
		}
	}
	inMountBubble(t, options("", true, nil), func(t *testing.T, b *mountBench) {
		b.mustSync(p)
		users := b.rec.sandbox.Linux.SecurityContext.NamespaceOptions.UsernsOptions
		if len(users.Uids) != 1 || len(users.Gids) != 1 || users.Uids[0].HostId != 131072 || users.Uids[0].Length != 65536 || users.Uids[0].ContainerId != 0 {
			t.Errorf("sandbox with %v", users)
		}
		of := b.rec.container.Linux.SecurityContext.NamespaceOptions.UsernsOptions
		if of.String() != users.String() || b.rec.container.Mounts[0].UidMappings[0].HostId != 131072 {
			t.Errorf("container with %v and %v", of, b.rec.container.Mounts[0])
		}
	})
	for want, change := range map[string]func(*hooks){
		"can't set `spec.hostUsers: false`, runtime does not support user namespaces":                       options("", false, nil),
		"can't set `spec.hostUsers: false`, RuntimeClass handler \"kata\" does not support user namespaces": options("kata", false, nil),
		"create user namespace: all are taken":                                                              options("", true, errors.New("all are taken")),
	} {
		inMountBubble(t, change, func(t *testing.T, b *mountBench) {
			if _, err := b.sync(p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
			wantCalls(t, b.bench)
		})
	}
}
