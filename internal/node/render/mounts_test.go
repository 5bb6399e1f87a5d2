package render

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// mounted renders the container's mounts as "containerPath<hostPath flags".
func mounted(t *testing.T, p *v1.Pod, in ContainerInput) ([]string, error) {
	t.Helper()
	cfg, err := Container(p, &p.Spec.Containers[0], in)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range cfg.Mounts {
		s := m.ContainerPath + "<" + m.HostPath + m.GetImage().GetImage()
		if m.ImageSubPath != "" {
			s += "/" + m.ImageSubPath
		}
		for flag, set := range map[string]bool{" ro": m.Readonly && !m.RecursiveReadOnly, " rro": m.RecursiveReadOnly} {
			if set {
				s += flag
			}
		}
		if m.SelinuxRelabel {
			s += " relabel"
		}
		if m.Propagation != runtimeapi.MountPropagation_PROPAGATION_PRIVATE {
			s += " " + strings.TrimPrefix(m.Propagation.String(), "PROPAGATION_")
		}
		out = append(out, s)
	}
	return out, nil
}

var ownMounts = []string{"/etc/hosts</pods/u1/etc-hosts", "/dev/termination-log</pods/u1/containers/c/id"}

// withVolume adds a volume v, mounted at /v.
func withVolume(source v1.VolumeSource, edits ...func(*v1.VolumeMount)) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: source}}
		mount := v1.VolumeMount{Name: "v", MountPath: "/v"}
		for _, edit := range edits {
			edit(&mount)
		}
		p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{mount}
	}
}

func withPaths(in *ContainerInput) { in.Volumes = map[string]string{"v": "/host/v"} }

var emptyDir = v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}

func TestVolumeMounts(t *testing.T) {
	propagation := func(mode v1.MountPropagationMode) func(*v1.VolumeMount) {
		return func(m *v1.VolumeMount) { m.MountPropagation = &mode }
	}
	recursive := func(mode v1.RecursiveReadOnlyMode) func(*v1.VolumeMount) {
		return func(m *v1.VolumeMount) { m.ReadOnly, m.RecursiveReadOnly = true, &mode }
	}
	rro := func(in *ContainerInput) { in.RecursiveReadOnly = true }
	selinux := func(in *ContainerInput) { in.Node.SELinux = true }
	none := func(*ContainerInput) {}
	tests := []struct {
		name string
		edit func(*v1.Pod)
		in   func(*ContainerInput)
		want string
	}{
		{"emptyDir", withVolume(emptyDir), none, "/v</host/v"},
		{"read-only", withVolume(emptyDir, func(m *v1.VolumeMount) { m.ReadOnly = true }), none, "/v</host/v ro"},
		{"secrets are never written", withVolume(v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}), none, "/v</host/v ro"},
		{"configMaps neither", withVolume(v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}), none, "/v</host/v ro"},
		{"a claim that is read-only", withVolume(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ReadOnly: true}}), none, "/v</host/v ro"},
		{"SELinux relabels a claim", withVolume(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}), selinux, "/v</host/v relabel"},
		{"relative path", withVolume(emptyDir, func(m *v1.VolumeMount) { m.MountPath = "v/w" }), none, "/v/w</host/v"},
		{"SELinux relabels what is ours", withVolume(emptyDir), selinux, "/v</host/v relabel"},
		{"SELinux leaves the host's alone", withVolume(v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}), selinux, "/v</host/v"},
		{"none", withVolume(emptyDir, propagation(v1.MountPropagationNone)), none, "/v</host/v"},
		{"to container", withVolume(emptyDir, propagation(v1.MountPropagationHostToContainer)), none, "/v</host/v HOST_TO_CONTAINER"},
		{"both ways", withVolume(emptyDir, propagation(v1.MountPropagationBidirectional)), none, "/v</host/v BIDIRECTIONAL"},
		{"recursive", withVolume(emptyDir, recursive(v1.RecursiveReadOnlyEnabled)), rro, "/v</host/v rro"},
		{"recursive if possible, and it is", withVolume(emptyDir, recursive(v1.RecursiveReadOnlyIfPossible)), rro, "/v</host/v rro"},
		{"recursive if possible, and it is not", withVolume(emptyDir, recursive(v1.RecursiveReadOnlyIfPossible)), none, "/v</host/v ro"},
		{"recursive off", withVolume(emptyDir, recursive(v1.RecursiveReadOnlyDisabled)), rro, "/v</host/v ro"},
		{"image", withVolume(v1.VolumeSource{Image: &v1.ImageVolumeSource{}}, func(m *v1.VolumeMount) { m.SubPath = "a" }), func(in *ContainerInput) {
			in.ImageVolumes = map[string]*runtimeapi.ImageSpec{"v": {Image: "sha256:2"}}
		}, "/v<sha256:2/a ro"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input(withPaths, tt.in)
			got, err := mounted(t, aPod(tt.edit), in)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{tt.want}
			for _, own := range ownMounts {
				if in.Node.SELinux {
					own += " relabel"
				}
				want = append(want, own)
			}
			diff(t, "mounts", want, got)
		})
	}
}

func TestInvalidMounts(t *testing.T) {
	tests := []struct {
		want string
		edit func(*v1.Pod)
		in   func(*ContainerInput)
	}{
		{`cannot find volume "v" to mount into container "c"`, func(p *v1.Pod) {
			withVolume(emptyDir)(p)
			p.Spec.Volumes = nil
		}, withPaths},
		{`volume "v", mounted at "/v", has not been set up`, withVolume(emptyDir), func(*ContainerInput) {}},
		{`volume "v", mounted at "/v", has not been set up`, withVolume(emptyDir, func(m *v1.VolumeMount) { m.SubPath = "a" }), withPaths},
		{`unknown mountPropagation "x"`, withVolume(emptyDir, func(m *v1.VolumeMount) { m.MountPropagation = new(v1.MountPropagationMode("x")) }), withPaths},
		{`not supported by the runtime`, withVolume(emptyDir, func(m *v1.VolumeMount) {
			m.ReadOnly, m.RecursiveReadOnly = true, new(v1.RecursiveReadOnlyEnabled)
		}), withPaths},
		{`volume "v" requested recursive read-only mode, but it is not read-only`, withVolume(emptyDir, func(m *v1.VolumeMount) { m.RecursiveReadOnly = new(v1.RecursiveReadOnlyEnabled) }), withPaths},
		{`not compatible with propagation "HostToContainer"`, withVolume(emptyDir, func(m *v1.VolumeMount) {
			m.ReadOnly, m.RecursiveReadOnly = true, new(v1.RecursiveReadOnlyEnabled)
			m.MountPropagation = new(v1.MountPropagationHostToContainer)
		}), withPaths},
	}
	for _, tt := range tests {
		if _, err := mounted(t, aPod(tt.edit), input(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

func TestHostsFileMount(t *testing.T) {
	atHosts := withVolume(emptyDir, func(m *v1.VolumeMount) { m.MountPath = "/etc/hosts" })
	noIPs := func(in *ContainerInput) { in.PodIPs = nil }
	tests := []struct {
		name string
		edit func(*v1.Pod)
		in   func(*ContainerInput)
		want []string
	}{
		{"pod with an address", func(*v1.Pod) {}, func(*ContainerInput) {}, ownMounts},
		{"pod without", func(*v1.Pod) {}, noIPs, ownMounts[1:]},
		{"node's network", func(p *v1.Pod) { p.Spec.HostNetwork = true }, noIPs, ownMounts},
		{"container has its own", atHosts, withPaths, []string{"/etc/hosts</host/v", ownMounts[1]}},
		{"no file for a message", func(*v1.Pod) {}, func(in *ContainerInput) { in.TerminationLog = "" }, ownMounts[:1]},
		{"no place for a message", func(p *v1.Pod) { p.Spec.Containers[0].TerminationMessagePath = "" }, func(*ContainerInput) {}, ownMounts[:1]},
	}
	for _, tt := range tests {
		got, err := mounted(t, aPod(tt.edit), input(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		diff(t, tt.name, tt.want, got)
	}
}

func TestSubPaths(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: emptyDir}, {Name: "img", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{}}}}
		p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "A", Value: "a"}, {Name: "E"}}
		p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{
			{Name: "v", MountPath: "/0"},
			{Name: "v", MountPath: "/1", SubPath: "x/y"},
			{Name: "v", MountPath: "/2", SubPathExpr: "$(A)/b"},
			{Name: "img", MountPath: "/3", SubPath: "z"},
		}
	})
	in := input(withPaths, func(in *ContainerInput) {
		in.ImageVolumes = map[string]*runtimeapi.ImageSpec{"img": {Image: "i"}}
		in.SubPaths = map[int]string{}
	})
	parts, err := SubPaths(p, &p.Spec.Containers[0], in)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "parts", []SubPath{
		{Index: 1, Volume: "v", Path: "x/y", Dir: "/pods/u1/volume-subpaths/v/c/1"},
		{Index: 2, Volume: "v", Path: "a/b", Dir: "/pods/u1/volume-subpaths/v/c/2"},
	}, parts)
	for _, part := range parts {
		in.SubPaths[part.Index] = part.Dir
	}
	got, err := mounted(t, p, in)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "mounts", append([]string{
		"/0</host/v", "/1</pods/u1/volume-subpaths/v/c/1", "/2</pods/u1/volume-subpaths/v/c/2", "/3<i/z ro",
	}, ownMounts...), got)

	for expr, want := range map[string]string{
		"$(E)": "missing value for E", "$(NO)$(E)$(E)": "missing value for E, NO",
		"/abs": "error SubPath `/abs` must not be an absolute path", "a/../b": "unable to provision SubPath `a/../b`: must not contain '..'",
	} {
		p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/x", SubPathExpr: expr}}
		if _, err := SubPaths(p, &p.Spec.Containers[0], in); err == nil || errors.Unwrap(err).Error() != want {
			t.Errorf("%s: error %v, want %q", expr, err, want)
		}
	}
}
