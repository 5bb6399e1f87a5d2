package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// base is examples/fleet, seen from this package.
const base = "../../examples/fleet"

// kustomized is what `kubectl kustomize DIR` prints.
func kustomized(t *testing.T, dir string) resmap.ResMap {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsRootOnly // as kubectl
	objects, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// read decodes the object of a kind and name, and refuses unknown fields.
func read[T any](t *testing.T, objects resmap.ResMap, kind, name string) (into T) {
	t.Helper()
	for _, o := range objects.Resources() {
		if o.GetKind() != kind || o.GetName() != name {
			continue
		}
		text, err := o.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, &into); err != nil {
			t.Fatalf("%s %s: %v", kind, name, err)
		}
		return into
	}
	t.Fatalf("there is no %s %s", kind, name)
	return into
}

func names(objects resmap.ResMap) (all []string) {
	for _, o := range objects.Resources() {
		all = append(all, o.GetKind()+" "+o.GetName())
	}
	slices.Sort(all)
	return all
}

func TestBaseObjects(t *testing.T) {
	want := []string{
		"ClusterRole podctl-inspector", "ClusterRoleBinding podctl-inspector", "DaemonSet podctl-inspector", "DaemonSet podctl-observer",
		"Namespace podctl-system", "ServiceAccount podctl-inspector", "ServiceAccount podctl-observer",
	}
	if got := names(kustomized(t, base)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The plugin and the scrape configuration find the pods by these.
func TestFleetPodsAreFoundByLabelsAndNames(t *testing.T) {
	objects := kustomized(t, base)
	for _, component := range []string{"observer", "inspector"} {
		d := read[appsv1.DaemonSet](t, objects, "DaemonSet", "podctl-"+component)
		want := map[string]string{"app.kubernetes.io/name": "podctl", "app.kubernetes.io/component": component}
		for key, value := range want {
			if d.Spec.Template.Labels[key] != value || d.Spec.Selector.MatchLabels[key] != value {
				t.Errorf("%s: label %s of the template is %q, of the selector %q", component, key, d.Spec.Template.Labels[key], d.Spec.Selector.MatchLabels[key])
			}
		}
		c := d.Spec.Template.Spec.Containers[0]
		if c.Name != "podctl" || len(c.Ports) != 1 || c.Ports[0].Name != "metrics" || c.Ports[0].ContainerPort != 9911 {
			t.Errorf("%s: container %s, ports %+v", component, c.Name, c.Ports)
		}
		if d.Namespace != "podctl-system" {
			t.Errorf("%s is in namespace %q", component, d.Namespace)
		}
	}
}

func TestFleetPodsAreReadOnly(t *testing.T) {
	for _, o := range []string{"podctl-observer", "podctl-inspector"} {
		d := read[appsv1.DaemonSet](t, kustomized(t, base), "DaemonSet", o)
		for _, c := range d.Spec.Template.Spec.Containers {
			if !slices.Contains(c.Env, v1.EnvVar{Name: "PODCTL_READ_ONLY", Value: "1"}) {
				t.Errorf("%s: %+v", o, c.Env)
			}
			if s := c.SecurityContext; s.Privileged != nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Contains(s.Capabilities.Drop, "ALL") {
				t.Errorf("%s: %+v", o, s)
			}
		}
	}
}

func TestInspectorClusterRole(t *testing.T) {
	objects := kustomized(t, base)
	role := read[rbacv1.ClusterRole](t, objects, "ClusterRole", "podctl-inspector")
	if len(role.Rules) != 1 {
		t.Fatalf("%+v", role.Rules)
	}
	r := role.Rules[0]
	if !slices.Equal(r.Resources, []string{"nodes/pods", "nodes/configz", "nodes/metrics"}) || !slices.Equal(r.Verbs, []string{"get"}) || !slices.Equal(r.APIGroups, []string{""}) {
		t.Errorf("%+v", r)
	}
	observer := read[appsv1.DaemonSet](t, objects, "DaemonSet", "podctl-observer")
	if token := observer.Spec.Template.Spec.AutomountServiceAccountToken; token == nil || *token {
		t.Error("the observer has a token")
	}
}

// The observer would be a restricted pod, were it not for the runtime's socket.
func TestPodSecurityOfNamespace(t *testing.T) {
	objects := kustomized(t, base)
	namespace := read[v1.Namespace](t, objects, "Namespace", "podctl-system")
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"podctl-observer":  {"hostPath volumes", "restricted volume types"},
		"podctl-inspector": {"host namespaces", "hostPath volumes", "hostPort", "restricted volume types", "runAsNonRoot != true", "runAsUser=0", "seLinuxOptions", "unrestricted capabilities", "non-default capabilities", "forbidden AppArmor profile"},
	} {
		template := read[appsv1.DaemonSet](t, objects, "DaemonSet", name).Spec.Template
		violates := func(level psa.Level) policy.AggregateCheckResult {
			return policy.AggregateCheckResults(evaluator.EvaluatePod(psa.LevelVersion{Level: level, Version: psa.LatestVersion()}, &template.ObjectMeta, &template.Spec))
		}
		if level := psa.Level(namespace.Labels[psa.EnforceLevelLabel]); !violates(level).Allowed {
			t.Errorf("%s is refused by the level %q of its namespace", name, level)
		}
		got := slices.Concat(violates(psa.LevelRestricted).ForbiddenReasons, violates(psa.LevelBaseline).ForbiddenReasons)
		for _, reason := range got {
			if !slices.Contains(want, reason) {
				t.Errorf("%s violates %q, which docs/fleet.md does not say", name, reason)
			}
		}
	}
}

func TestInspectorSeesHost(t *testing.T) {
	s := read[appsv1.DaemonSet](t, kustomized(t, base), "DaemonSet", "podctl-inspector").Spec.Template.Spec
	c := s.Containers[0]
	if !s.HostPID || !s.HostNetwork || !slices.Contains(c.Env, v1.EnvVar{Name: "PODCTL_HOST_ROOT", Value: "/host"}) {
		t.Errorf("hostPID %v, hostNetwork %v, %+v", s.HostPID, s.HostNetwork, c.Env)
	}
	host := c.VolumeMounts[0]
	if host.MountPath != "/host" || !host.ReadOnly || host.MountPropagation == nil || *host.MountPropagation != v1.MountPropagationHostToContainer {
		t.Errorf("%+v", host)
	}
}

func TestCRIOOverlayChangesObserverSocketOnly(t *testing.T) {
	objects := overlaid(t, "crio", "images: [{name: podctl.local/podctl, newName: registry.test/podctl, newTag: v1}]\n")
	s := read[appsv1.DaemonSet](t, objects, "DaemonSet", "podctl-observer").Spec.Template.Spec
	c := s.Containers[0]
	if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].MountPath != "/run/crio" || s.Volumes[0].HostPath.Path != "/run/crio" ||
		!slices.Contains(c.Env, v1.EnvVar{Name: "CONTAINER_RUNTIME_ENDPOINT", Value: "unix:///run/crio/crio.sock"}) ||
		!slices.Contains(c.Env, v1.EnvVar{Name: "PODCTL_READ_ONLY", Value: "1"}) {
		t.Errorf("%+v\n%+v", c, s.Volumes)
	}
	for _, name := range []string{"podctl-observer", "podctl-inspector"} {
		if image := read[appsv1.DaemonSet](t, objects, "DaemonSet", name).Spec.Template.Spec.Containers[0].Image; image != "registry.test/podctl:v1" {
			t.Errorf("%s: image %s", name, image)
		}
	}
}

// On the node's network the inspector listens at one address, not at each that the node
// has: at the node's own, or with the component loopback at one that is not reached from
// elsewhere. The kubelet probes the same one.
func TestInspectorListenAddress(t *testing.T) {
	inspector := func(objects resmap.ResMap) v1.Container {
		return read[appsv1.DaemonSet](t, objects, "DaemonSet", "podctl-inspector").Spec.Template.Spec.Containers[0]
	}
	c := inspector(kustomized(t, base))
	hostIP := slices.IndexFunc(c.Env, func(e v1.EnvVar) bool { return e.Name == "HOST_IP" })
	if !slices.Contains(c.Args, "[$(HOST_IP)]:9911") || hostIP < 0 || c.Env[hostIP].ValueFrom.FieldRef.FieldPath != "status.hostIP" || c.LivenessProbe.HTTPGet.Host != "" {
		t.Errorf("%q, %+v", c.Args, c.Env)
	}
	alone := inspector(overlaid(t, "loopback", ""))
	if !slices.Contains(alone.Args, "127.0.0.1:9911") || len(alone.Ports) > 0 || len(alone.Env) != len(c.Env)-1 {
		t.Errorf("%q, %+v, %+v", alone.Args, alone.Ports, alone.Env)
	}
	for path, p := range map[string]*v1.Probe{"/healthz": alone.LivenessProbe, "/readyz": alone.ReadinessProbe} {
		if get := p.HTTPGet; get.Host != "127.0.0.1" || get.Port.IntValue() != 9911 || get.Path != path || p.PeriodSeconds != 30 {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

// overlaid is the base with one of its components, and with more of a kustomization.
func overlaid(t *testing.T, component, more string) resmap.ResMap {
	t.Helper()
	dir := t.TempDir()
	copyDir(t, base, filepath.Join(dir, "fleet"))
	copyDir(t, filepath.Join(base, component), filepath.Join(dir, "fleet", component))
	overlay := filepath.Join(dir, "overlay")
	if err := os.MkdirAll(overlay, 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("resources: [../fleet]\ncomponents: [../fleet/%s]\n%s", component, more)
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return kustomized(t, overlay)
}

// copyDir copies the files of a directory, without those below it.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".yaml") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, e.Name()), content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
