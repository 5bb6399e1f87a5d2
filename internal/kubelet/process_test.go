package kubelet

import "testing"

func TestIsKubelet(t *testing.T) {
	for _, c := range []struct {
		name string
		p    process
		want bool
	}{
		{"kubelet", process{exe: "/usr/bin/kubelet", args: []string{"/usr/bin/kubelet", "--config=/x"}}, true},
		{"kubelet upgraded under itself", process{exe: "/usr/bin/kubelet (deleted)", args: []string{"kubelet"}}, true},
		{"k3s that rewrote argv[0]", process{exe: "/var/lib/rancher/k3s/data/x/bin/k3s", args: []string{"/usr/local/bin/k3s server"}}, true},
		{"k3s agent", process{exe: "/usr/local/bin/k3s", args: []string{"k3s", "agent"}}, true},
		{"crictl of k3s", process{exe: "/usr/local/bin/k3s", args: []string{"k3s", "crictl", "ps"}}, false},
		{"microk8s", process{exe: "/snap/microk8s/1/kubelite", args: []string{"/snap/microk8s/1/kubelite"}}, true},
		{"hyperkube kubelet", process{exe: "/hyperkube", args: []string{"/hyperkube", "kubelet"}}, true},
		{"an argument named kubelet", process{exe: "/usr/bin/vim", args: []string{"vim", "kubelet"}}, false},
		{"containerd", process{exe: "/usr/bin/containerd", args: []string{"containerd"}}, false},
		{"nothing readable", process{}, false},
	} {
		if got := isKubelet(c.p); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}
