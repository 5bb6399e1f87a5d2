package podsync_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// secretive is a pod whose variable TOKEN comes from a Secret.
func secretive(change func(*v1.Container)) *v1.Pod {
	p := podOf(v1.RestartPolicyAlways, container("c"))
	c := &p.Spec.Containers[0]
	c.Env = []v1.EnvVar{{Name: "TOKEN", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{
		LocalObjectReference: v1.LocalObjectReference{Name: "s"}, Key: "token",
	}}}}
	change(c)
	return p
}

// leaks runs a sync of the pod with the Secret and returns all that it handed
// out.
func leaks(t *testing.T, b *bench, p *v1.Pod, value string) string {
	t.Helper()
	var out strings.Builder
	b.hooks.published = func(_ *v1.Pod, s v1.PodStatus) {
		text, _ := json.Marshal(s)
		out.Write(text)
	}
	objects := withSecret(p.Namespace, "s", v1.SecretTypeOpaque, map[string][]byte{"token": []byte(value), "other": []byte("unused")})
	res, err := syncWith(b, p, objects)
	status, _ := json.Marshal(res.Status)
	kept, _ := b.syncer.Status(p.UID)
	text, _ := json.Marshal(kept)
	fmt.Fprintf(&out, "\n%s\n%s\n%v\n", status, text, err)
	for _, e := range b.events.list {
		text, _ := json.Marshal(e)
		fmt.Fprintf(&out, "%s\n", text)
	}
	return out.String()
}

func TestSecretsAreMaskedInEventsStatusesAndErrors(t *testing.T) {
	const secret = "hunter2/../../etc"
	t.Run("a subPathExpr that leaves its volume", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bench) {
			p := secretive(func(c *v1.Container) {
				c.VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/v", SubPathExpr: "$(TOKEN)"}}
			})
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
			if out := leaks(t, b, p, secret); strings.Contains(out, "hunter2") || !strings.Contains(out, "***") {
				t.Errorf("the secret, or no mask, in\n%s", out)
			}
		})
	})
	for _, method := range []string{"CreateContainer", "StartContainer"} {
		t.Run("a command that is not found: "+method, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				p := secretive(func(c *v1.Container) { c.Command = []string{"$(TOKEN)"} })
				b.rt.fail = func(m, _ string) error {
					if m == method {
						return errors.New(`exec: "hunter2\"x": executable file not found in $PATH`)
					}
					return nil
				}
				out := leaks(t, b, p, `hunter2"x`)
				if strings.Contains(out, "hunter2") || !strings.Contains(out, `executable file not found`) {
					t.Errorf("the secret, or no message, in\n%s", out)
				}
			})
		})
	}
	t.Run("the runtime's message of a run", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bench) {
			b.rt.program = func(*runtimeapi.ContainerConfig) program {
				return program{noStart: `exec: "hunter2": executable file not found`}
			}
			p := secretive(func(c *v1.Container) { c.Command = []string{"$(TOKEN)"} })
			leaks(t, b, p, "hunter2")
			st := b.rt.snapshot()
			for _, c := range st.Containers {
				c.Message = `exec: "hunter2": executable file not found`
			}
			res, err := b.syncer.Terminate(t.Context(), podsync.TerminateInput{Pod: p, Status: st, Fresh: func(ctx context.Context) (*pod.Status, error) { return st, nil }})
			text, _ := json.Marshal(res.Status)
			if strings.Contains(string(text), "hunter2") || err != nil {
				t.Errorf("%s, %v", text, err)
			}
		})
	})
}

// What the manifest says itself is no secret, nor is what is found in any text.
func TestMaskSkipsManifestTexts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := secretive(func(c *v1.Container) { c.Image = testImage })
		b.rt.fail = func(m, _ string) error {
			if m == "CreateContainer" {
				return errors.New("no " + testImage + " in a")
			}
			return nil
		}
		for _, value := range []string{testImage, "a", ""} {
			if out := leaks(t, b, p, value); strings.Contains(out, "***") {
				t.Errorf("%q is masked in\n%s", value, out)
			}
		}
	})
}

// An error is what it was, masked or not.
func TestMaskedErrorKeepsLayerAndType(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := secretive(func(*v1.Container) {})
		b.rt.fail = func(m, _ string) error {
			if m == "CreateContainer" {
				return errors.New("hunter2")
			}
			return nil
		}
		objects := withSecret(p.Namespace, "s", v1.SecretTypeOpaque, map[string][]byte{"token": []byte("hunter2")})
		_, err := syncWith(b, p, objects)
		var start *podsync.StartError
		if event.LayerOf(err) != event.LayerContainer || !errors.As(err, &start) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v has layer %q", err, event.LayerOf(err))
		}
	})
}

// Lines of a script are common words; what the manifest says, spaces and short
// lines are not masked, long lines are.
func TestMaskSkipsCommonWords(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		const said = "container c of " + testImage + " in pod   web: cannot run or done"
		p := secretive(func(c *v1.Container) { c.Image = testImage })
		b.rt.fail = func(m, _ string) error {
			if m == "CreateContainer" {
				return errors.New(said + ": correct horse")
			}
			return nil
		}
		out := leaks(t, b, p, "\nweb\nrun\ndone\n   \n"+testImage+"\ncorrect horse\n")
		if !strings.Contains(out, said+": ***") || strings.Contains(out, "correct horse") {
			t.Errorf("masked too much, or too little, in\n%s", out)
		}
		if out := leaks(t, b, p, "    \n"); !strings.Contains(out, said) {
			t.Errorf("spaces are masked in\n%s", out)
		}
		if out := leaks(t, b, p, "\n"+testImage+"\n"); !strings.Contains(out, said) {
			t.Errorf("the image is masked in\n%s", out)
		}
	})
}

func TestMaskOverlappingValues(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := secretive(func(c *v1.Container) {
			c.EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "s"}}}}
		})
		b.rt.fail = func(m, _ string) error {
			if m == "CreateContainer" {
				return errors.New("no abcdeXsecondsecret, nor abcabcabc here")
			}
			return nil
		}
		_, err := syncWith(b, p, withSecret(p.Namespace, "s", v1.SecretTypeOpaque, map[string][]byte{
			"token": []byte("abcdeX"), "two": []byte("eXsecondsecret"), "self": []byte("abcabc"),
		}))
		if err == nil || !strings.Contains(err.Error(), "no ***, nor *** here") {
			t.Errorf("error %v", err)
		}
	})
}

// A termination message is cut to its container's share after it is masked.
func TestMaskBeforeTerminationMessageIsCut(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{noStart: "no"} }
		p := secretive(func(*v1.Container) {})
		leaks(t, b, p, "hunter2secret")
		st := b.rt.snapshot()
		for _, c := range st.Containers {
			c.Message = strings.Repeat("x", 12<<10-4) + "hunter2secret"
		}
		res, err := b.syncer.Terminate(t.Context(), podsync.TerminateInput{Pod: p, Status: st, Fresh: func(context.Context) (*pod.Status, error) { return st, nil }})
		text, _ := json.Marshal(res.Status)
		if strings.Contains(string(text), "hunt") || !strings.Contains(string(text), "x***") || err != nil {
			t.Errorf("…%s, %v", text[max(0, len(text)-200):], err)
		}
	})
}
