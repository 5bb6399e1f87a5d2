package render

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

func TestRunAsNonRoot(t *testing.T) {
	root, nobody, huge := pod.Image{}, pod.Image{UID: new(int64(65534))}, pod.Image{UID: new(int64(1) << 40)}
	named := pod.Image{Username: "app"}
	user := func(uid int64) *int64 { return &uid }
	tests := []struct {
		name         string
		nonRoot      *bool
		ownNonRoot   *bool
		ofPod, own   *int64
		image        pod.Image
		refused      string
		uid          *int64
		usernameSent string
	}{
		{name: "not asked for", image: root, uid: user(0)},
		{name: "false", nonRoot: new(false), image: root, uid: user(0)},
		{name: "image of root", nonRoot: new(true), image: root, refused: "image will run as root"},
		{name: "the container's own", ownNonRoot: new(true), image: root, refused: "image will run as root"},
		{name: "the container's own wins", nonRoot: new(true), ownNonRoot: new(false), image: root, uid: user(0)},
		{name: "image of uid 0", nonRoot: new(true), image: pod.Image{UID: user(0)}, refused: "image will run as root"},
		{name: "image of a number", nonRoot: new(true), image: nobody, uid: user(65534)},
		{name: "image of no possible number", nonRoot: new(true), image: huge, refused: "invalid user id"},
		{name: "image of a name", nonRoot: new(true), image: named, refused: "non-numeric user (app)"},
		{name: "image of a name, any user", image: named, usernameSent: "app"},
		{name: "the pod's user", nonRoot: new(true), ofPod: user(5), image: root, uid: user(5)},
		{name: "the pod's user is root", nonRoot: new(true), ofPod: user(0), image: nobody, refused: "breaks non-root policy"},
		{name: "the container's user wins", nonRoot: new(true), ofPod: user(0), own: user(7), image: root, uid: user(7)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := aPod(func(p *v1.Pod) {
				p.Spec.SecurityContext.RunAsNonRoot, p.Spec.SecurityContext.RunAsUser = tt.nonRoot, tt.ofPod
				p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{RunAsUser: tt.own, RunAsNonRoot: tt.ownNonRoot}
			})
			sc, err := containerSecurity(p, &p.Spec.Containers[0], input(func(in *ContainerInput) { in.Image = tt.image }))
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) || !strings.Contains(err.Error(), `(pod: "web_shop(u1)", container: c)`) {
					t.Fatalf("error %v, want %q", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "username", tt.usernameSent, sc.RunAsUsername)
			if (sc.RunAsUser == nil) != (tt.uid == nil) || (tt.uid != nil && sc.RunAsUser.Value != *tt.uid) {
				t.Errorf("user %v, want %v", sc.RunAsUser, tt.uid)
			}
		})
	}
}

func TestContainersSecurityWinsOverThePods(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/noted": "localhost/x"}
		p.Spec.SecurityContext = &v1.PodSecurityContext{
			SELinuxOptions:           &v1.SELinuxOptions{Level: "pod"},
			RunAsGroup:               new(int64(1)),
			SeccompProfile:           &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault},
			AppArmorProfile:          &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault},
			SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict),
			FSGroup:                  new(int64(9)), SupplementalGroups: []int64{8},
		}
		p.Spec.Containers = []v1.Container{
			{Name: "plain"},
			{Name: "noted"},
			{Name: "own", SecurityContext: &v1.SecurityContext{
				SELinuxOptions:           &v1.SELinuxOptions{Level: "own"},
				RunAsGroup:               new(int64(2)),
				SeccompProfile:           &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost, LocalhostProfile: new("a/b.json")},
				AppArmorProfile:          &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("mine")},
				AllowPrivilegeEscalation: new(true),
				ProcMount:                new(v1.UnmaskedProcMount),
			}},
		}
	})
	type view struct {
		Level, AppArmor, Seccomp, LocalRef, Policy string
		Group                                      int64
		Groups                                     []int64
		Masked, Readonly                           int
		NoNewPrivs                                 bool
	}
	want := []view{
		{Level: "pod", AppArmor: "runtime/default", Seccomp: "RuntimeDefault", Policy: "Strict", Group: 1, Groups: []int64{9, 8}, Masked: 13, Readonly: 5},
		{Level: "pod", AppArmor: "localhost/x", Seccomp: "RuntimeDefault", Policy: "Strict", Group: 1, Groups: []int64{9, 8}, Masked: 13, Readonly: 5},
		{Level: "own", AppArmor: "localhost/mine", Seccomp: "Localhost", LocalRef: "/seccomp/a/b.json", Policy: "Strict", Group: 2, Groups: []int64{9, 8}},
	}
	in := input(func(in *ContainerInput) {
		in.Node.ThermalThrottle = []string{"/sys/devices/system/cpu/cpu0/thermal_throttle"}
	})
	for i := range p.Spec.Containers {
		sc, err := containerSecurity(p, &p.Spec.Containers[i], in)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, p.Spec.Containers[i].Name, want[i], view{
			sc.SelinuxOptions.Level, sc.ApparmorProfile, //nolint:staticcheck // as long as it is sent
			sc.Seccomp.ProfileType.String(), sc.Seccomp.LocalhostRef,
			sc.SupplementalGroupsPolicy.String(), sc.RunAsGroup.Value, sc.SupplementalGroups,
			len(sc.MaskedPaths), len(sc.ReadonlyPaths), sc.NoNewPrivs,
		})
	}
}

func TestInvalidSecurityContexts(t *testing.T) {
	for name, edit := range map[string]func(*v1.Pod){
		"seccompProfile of type Localhost": func(p *v1.Pod) {
			p.Spec.SecurityContext.SeccompProfile = &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost}
		},
		"appArmorProfile of type Localhost": func(p *v1.Pod) {
			p.Spec.SecurityContext.AppArmorProfile = &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost}
		},
		`appArmorProfile has the unknown type "x"`: func(p *v1.Pod) {
			p.Spec.SecurityContext.AppArmorProfile = &v1.AppArmorProfile{Type: "x"}
		},
		`supplementalGroupsPolicy "x"`: func(p *v1.Pod) {
			p.Spec.SecurityContext.SupplementalGroupsPolicy = new(v1.SupplementalGroupsPolicy("x"))
		},
	} {
		p := aPod(edit)
		if _, err := Container(p, &p.Spec.Containers[0], input()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
}

func TestSandboxPrivilegedIfAnyContainerIs(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Spec.InitContainers = []v1.Container{{Name: "i", SecurityContext: &v1.SecurityContext{Privileged: new(true)}}}
		p.Spec.SecurityContext.SeccompProfile = &v1.SeccompProfile{Type: v1.SeccompProfileTypeUnconfined}
	})
	cfg, err := Sandbox(p, SandboxInput{Node: aNode()})
	if err != nil {
		t.Fatal(err)
	}
	sc := cfg.Linux.SecurityContext
	if !sc.Privileged || sc.Seccomp.ProfileType != runtimeapi.SecurityProfile_RuntimeDefault {
		t.Errorf("privileged %v, seccomp %v; want true and RuntimeDefault whatever the pod asks for", sc.Privileged, sc.Seccomp.ProfileType)
	}
}

func TestSysctlNamesUseDots(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Spec.SecurityContext.Sysctls = []v1.Sysctl{{Name: "net/ipv4/tcp_syncookies", Value: "0"}, {Name: "net.ipv4.conf.eth0/1.log", Value: "1"}}
	})
	diff(t, "sysctls", map[string]string{"net.ipv4.tcp_syncookies": "0", "net.ipv4.conf.eth0/1.log": "1"}, sysctls(p))
}
