package twin

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func (d *draw) volumes(spec *v1.PodSpec) {
	spec.Volumes = append(spec.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
	if d.often(25) {
		items := []v1.DownwardAPIVolumeFile{{Path: "labels", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}
		spec.Volumes = append(spec.Volumes, v1.Volume{Name: "info", VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: items}}})
	}
	if d.often(15) {
		spec.Volumes = append(spec.Volumes, v1.Volume{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/etc/ssl"}}})
	}
}

func (d *draw) network(pod *v1.Pod) {
	spec := &pod.Spec
	spec.DNSPolicy = oneOf(d, v1.DNSDefault, v1.DNSDefault, v1.DNSClusterFirst, v1.DNSNone)
	if spec.DNSPolicy == v1.DNSNone || d.often(15) {
		spec.DNSConfig = &v1.PodDNSConfig{
			Nameservers: []string{"192.0.2.53"}, Searches: []string{"twin.example"},
			Options: []v1.PodDNSConfigOption{{Name: "ndots", Value: new("3")}, {Name: "edns0"}},
		}
	}
	if d.often(15) {
		spec.HostAliases = []v1.HostAlias{{IP: "192.0.2.7", Hostnames: []string{"db", "cache"}}}
	}
	if d.often(15) {
		spec.Hostname, spec.Subdomain = "host-"+pod.Name, oneOf(d, "", "sub")
	}
	if d.often(10) {
		spec.ShareProcessNamespace = new(true)
	}
	if d.often(5) {
		spec.HostPID = true
		spec.ShareProcessNamespace = nil
	}
}

func (d *draw) podSecurity(spec *v1.PodSpec) {
	if !d.often(40) {
		return
	}
	s := &v1.PodSecurityContext{}
	if d.often(50) {
		s.RunAsUser, s.RunAsGroup = new(int64(d.between(1, 3000))), new(int64(d.between(1, 3000)))
	}
	if d.often(30) {
		s.SupplementalGroups = []int64{int64(d.between(1, 99)), 4000}
	}
	if d.often(30) {
		s.FSGroup = new(int64(d.between(1, 3000)))
	}
	if d.often(30) {
		s.SeccompProfile = &v1.SeccompProfile{Type: oneOf(d, v1.SeccompProfileTypeRuntimeDefault, v1.SeccompProfileTypeUnconfined)}
	}
	if d.often(20) {
		s.Sysctls = []v1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "80"}}
	}
	spec.SecurityContext = s
}

func (d *draw) container(pod *v1.Pod, name string) v1.Container {
	c := v1.Container{Name: name, Image: oneOf(d, "busybox:1", "registry.example/app:2", "app"), Command: []string{"run", "$(MODE)"}, Args: []string{"--name=$(NAME)"}}
	c.ImagePullPolicy = oneOf(d, v1.PullIfNotPresent, v1.PullIfNotPresent, v1.PullAlways, v1.PullNever)
	field := func(path string) *v1.EnvVarSource {
		return &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: path}}
	}
	c.Env = []v1.EnvVar{{Name: "MODE", Value: "fast"}, {Name: "NAME", ValueFrom: field("metadata.labels['app']")}}
	if d.often(30) {
		c.Env = append(c.Env, v1.EnvVar{Name: "NAMESPACE", ValueFrom: field("metadata.namespace")}, v1.EnvVar{Name: "NOTE", ValueFrom: field("metadata.annotations['note']")},
			v1.EnvVar{Name: "CPU", ValueFrom: &v1.EnvVarSource{ResourceFieldRef: &v1.ResourceFieldSelector{Resource: "requests.cpu", Divisor: resource.MustParse("1m")}}})
	}
	d.resources(&c)
	d.security(&c)
	c.VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data", ReadOnly: d.often(20)}}
	for _, v := range pod.Spec.Volumes[1:] {
		m := v1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name, ReadOnly: true}
		if v.Name == "host" {
			m.MountPropagation = oneOf(d, nil, new(v1.MountPropagationHostToContainer))
		}
		c.VolumeMounts = append(c.VolumeMounts, m)
	}
	if d.often(20) {
		c.TerminationMessagePath = "/dev/why"
	}
	c.TerminationMessagePolicy = oneOf(d, v1.TerminationMessageReadFile, v1.TerminationMessageFallbackToLogsOnError)
	if d.often(10) {
		c.WorkingDir = "/data"
	}
	if d.often(10) {
		c.Stdin, c.TTY, c.StdinOnce = true, d.often(50), d.often(50)
	}
	if d.often(20) {
		c.Ports = []v1.ContainerPort{{Name: "web", ContainerPort: 8080, Protocol: oneOf(d, v1.ProtocolTCP, v1.ProtocolUDP)}}
	}
	return c
}

func (d *draw) resources(c *v1.Container) {
	if d.often(40) {
		return
	}
	c.Resources.Requests = v1.ResourceList{"cpu": resource.MustParse(fmt.Sprintf("%dm", d.between(1, 8)))}
	if d.often(50) {
		c.Resources.Requests["memory"] = resource.MustParse(fmt.Sprintf("%dMi", d.between(1, 16)))
	}
	if d.often(40) {
		c.Resources.Limits = v1.ResourceList{"cpu": resource.MustParse(fmt.Sprintf("%dm", d.between(10, 900))), "memory": resource.MustParse(fmt.Sprintf("%dMi", d.between(17, 40)))}
	}
}

func (d *draw) security(c *v1.Container) {
	if !d.often(40) {
		return
	}
	s := &v1.SecurityContext{}
	if d.often(30) {
		s.Capabilities = &v1.Capabilities{Add: []v1.Capability{"NET_ADMIN", "SYS_TIME"}, Drop: oneOf(d, nil, []v1.Capability{"ALL"}, []v1.Capability{"MKNOD"})}
	}
	if d.often(30) {
		s.ReadOnlyRootFilesystem = new(true)
	}
	if d.often(30) {
		s.AllowPrivilegeEscalation = new(false)
	} else if d.often(15) {
		s.Privileged, s.Capabilities = new(true), nil
	}
	if d.often(30) {
		s.RunAsUser, s.RunAsNonRoot = new(int64(d.between(1, 3000))), new(true)
	}
	c.SecurityContext = s
}

// life gives the container a script that decides how it runs and ends.
func (d *draw) life(pod *v1.Pod, c *v1.Container, sidecar bool) {
	lives := []string{
		"touch /ready; sleep infinity",
		"touch /ready; sleep infinity",
		"touch /ready; trap 'exit 0' TERM; while true; do sleep 0.1; done",
		"touch /ready; trap 'sleep 1.5; exit 7' TERM; while true; do sleep 0.1; done",
		fmt.Sprintf("sleep %d; touch /ready; sleep infinity", d.between(1, 8)),
		fmt.Sprintf("touch /ready; sleep %d; rm /ready; sleep %d; touch /ready; sleep infinity", d.between(4, 15), d.between(4, 15)),
	}
	if !sidecar {
		lives = append(lives,
			fmt.Sprintf("touch /ready; echo done; sleep %d.4; exit 0", d.between(1, 20)),
			fmt.Sprintf("touch /ready; echo failed; sleep %d.4; echo why > /dev/termination-log; exit %d", d.between(1, 20), d.between(1, 3)),
			fmt.Sprintf("[ $ATTEMPT -ge %d ] || exit 4; touch /ready; sleep infinity", d.between(1, 3)),
			"exit 1",
		)
		if c.Resources.Limits != nil {
			lives = append(lives, "touch /ready; sleep 3; grow 60Mi 2s; sleep infinity")
		}
	}
	pod.Annotations["sim.podctl.io/script."+c.Name] = oneOf(d, lives...)
}

func (d *draw) probe() *v1.Probe {
	p := &v1.Probe{PeriodSeconds: int32(d.between(1, 6)), InitialDelaySeconds: int32(oneOf(d, 0, 0, 2, 5)), FailureThreshold: int32(d.between(1, 4)), TimeoutSeconds: int32(d.between(1, 3))}
	p.Exec = &v1.ExecAction{Command: []string{"cat", "/ready"}}
	return p
}

func (d *draw) probes(c *v1.Container) {
	if d.often(35) {
		c.ReadinessProbe = d.probe()
		c.ReadinessProbe.SuccessThreshold = int32(d.between(1, 2))
		if d.often(15) {
			c.ReadinessProbe.ProbeHandler = v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(8080)}}
		}
	}
	if d.often(25) {
		c.LivenessProbe = d.probe()
		if d.often(15) {
			c.LivenessProbe.ProbeHandler = v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}}
		}
		if d.often(25) {
			c.LivenessProbe.TerminationGracePeriodSeconds = new(int64(d.between(1, 5)))
		}
	}
	if d.often(15) {
		c.StartupProbe = d.probe()
		c.StartupProbe.FailureThreshold = int32(d.between(2, 8))
	}
}

func (d *draw) hooks(c *v1.Container) {
	exec := func(script string) *v1.LifecycleHandler {
		return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", script}}}
	}
	hooks := &v1.Lifecycle{}
	if d.often(15) {
		hooks.PostStart = oneOf(d, exec("sleep 1"), exec("touch /hooked"), exec("exit 3"), &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 2}})
	}
	if d.often(25) {
		hooks.PreStop = oneOf(d, exec("sleep 1"), exec("exit 1"), exec("sleep 30"), &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 3}})
	}
	if hooks.PostStart != nil || hooks.PreStop != nil {
		c.Lifecycle = hooks
	}
}

func (d *draw) restartRules(c *v1.Container) {
	c.RestartPolicy = new(oneOf(d, v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyOnFailure))
	c.RestartPolicyRules = []v1.ContainerRestartRule{{
		Action:    v1.ContainerRestartRuleActionRestart,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{1, 4}},
	}}
}
