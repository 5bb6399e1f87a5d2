package kubelet

import "testing"

func TestIsKubelet(t *testing.T) {
	for _, c := range []struct {
		name string
		p    commandLine
		want bool
	}{
		{"kubelet", commandLine{exe: "/usr/bin/kubelet", args: []string{"/usr/bin/kubelet", "--config=/x"}}, true},
		{"kubelet upgraded under itself", commandLine{exe: "/usr/bin/kubelet (deleted)", args: []string{"kubelet"}}, true},
		{"k3s that rewrote argv[0]", commandLine{exe: "/var/lib/rancher/k3s/data/x/bin/k3s", args: []string{"/usr/local/bin/k3s server"}}, true},
		{"k3s agent", commandLine{exe: "/usr/local/bin/k3s", args: []string{"k3s", "agent"}}, true},
		{"crictl of k3s", commandLine{exe: "/usr/local/bin/k3s", args: []string{"k3s", "crictl", "ps"}}, false},
		{"microk8s", commandLine{exe: "/snap/microk8s/1/kubelite", args: []string{"/snap/microk8s/1/kubelite"}}, true},
		{"hyperkube kubelet", commandLine{exe: "/hyperkube", args: []string{"/hyperkube", "kubelet"}}, true},
		{"an argument named kubelet", commandLine{exe: "/usr/bin/vim", args: []string{"vim", "kubelet"}}, false},
		{"containerd", commandLine{exe: "/usr/bin/containerd", args: []string{"containerd"}}, false},
		{"nothing readable", commandLine{}, false},
	} {
		if got := isKubelet(c.p); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}
