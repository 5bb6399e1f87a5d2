package kubelet

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func fakeFiles(content map[string]string) files {
	return files{
		dir: "/cwd",
		read: func(path string) ([]byte, error) {
			if text, ok := content[path]; ok {
				return []byte(text), nil
			}
			return nil, fmt.Errorf("no %s", path)
		},
		glob: func(dir, suffix string) (paths []string, err error) {
			for path := range content {
				if filepath.Dir(path) == dir && strings.HasSuffix(path, suffix) {
					paths = append(paths, path)
				}
			}
			return paths, nil
		},
	}
}

func TestReadSettings(t *testing.T) {
	content := map[string]string{
		"/k/config.yaml": "readOnlyPort: 10256\nstaticPodPath: manifests\nport: 10001\nmaxPods: 20\n",
		"/k/d/1.conf":    "maxPods: 30\n", "/k/d/2.conf": "maxPods: 40\n", "/k/d/3.txt": "maxPods: 50\n",
		"/cwd/own.yaml": "staticPodPath: /s\ntlsCertFile: pki/own.crt\n",
	}
	with := func(change func(*settings)) settings {
		s := settings{config: defaults(), rootDir: "/var/lib/kubelet", certDir: "/var/lib/kubelet/pki"}
		change(&s)
		return s
	}
	for _, c := range []struct {
		args string
		want settings
	}{
		{"kubelet", with(func(*settings) {})},
		{"kubelet --config=/k/config.yaml", with(func(s *settings) {
			s.config.ReadOnlyPort, s.config.StaticPodPath, s.config.Port, s.config.MaxPods = 10256, "/k/manifests", 10001, 20
			s.configFile = "/k/config.yaml"
		})},
		{"kubelet --config=/k/config.yaml --config-dir /k/d", with(func(s *settings) {
			s.config.ReadOnlyPort, s.config.StaticPodPath, s.config.Port, s.config.MaxPods = 10256, "/k/manifests", 10001, 40
			s.configFile = "/k/config.yaml"
		})},
		{"kubelet --config own.yaml --read-only-port 10999 --hostname-override n1 --root-dir=r", with(func(s *settings) {
			s.config.ReadOnlyPort, s.config.StaticPodPath, s.nodeName, s.rootDir = 10999, "/s", "n1", "/cwd/r"
			s.configFile, s.config.TLSCertFile = "/cwd/own.yaml", "/cwd/pki/own.crt"
		})},
		{"/usr/bin/kubelet --kubeconfig=/k --read_only_port=0 --pod-manifest-path=/m", with(func(s *settings) {
			s.kubeconfig, s.config.StaticPodPath = "/k", "/m"
		})},
		{"kubelet --cert-dir=/c --tls-cert-file x.crt", with(func(s *settings) { s.certDir, s.config.TLSCertFile = "/c", "/cwd/x.crt" })},
		{"/usr/local/bin/k3s server", with(func(s *settings) { s.embedded = true })},
		{"kubelet --kube-reserved cpu=1,memory=1Gi --eviction-hard memory.available<5% --max-pods=9", with(func(s *settings) {
			s.config.MaxPods, s.config.EvictionHard = 9, map[string]string{"memory.available": "5%"}
			s.config.KubeReserved = quantities("cpu", "1", "memory", "1Gi")
		})},
	} {
		got, err := readSettings(strings.Fields(c.args), fakeFiles(content))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", c.args, err, got, c.want)
		}
	}
}

// Any process of the host may be named kubelet and have an empty argv[0].
func TestReadSettingsEmptyProgramIsEmbedded(t *testing.T) {
	for _, args := range [][]string{{""}, {" "}, {"", "--node-ip=::1"}} {
		if s, err := readSettings(args, fakeFiles(nil)); err != nil || !s.embedded {
			t.Errorf("%q: embedded %v, %v", args, s.embedded, err)
		}
	}
}

func quantities(pairs ...string) (all map[v1.ResourceName]resource.Quantity) {
	all = map[v1.ResourceName]resource.Quantity{}
	for i := 0; i < len(pairs); i += 2 {
		all[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return all
}

// A setting that cannot be read is an error: the default could be wrong.
func TestReadSettingsErrors(t *testing.T) {
	content := map[string]string{"/bad.yaml": "port: [", "/k/1.conf": "port: x"}
	for _, args := range []string{
		"", "kubelet --config=/none", "kubelet --config=/bad.yaml", "kubelet --config-dir=/k", "kubelet --port=x", "kubelet --max-pods=x",
		"kubelet --kube-reserved=cpu=x",
	} {
		if _, err := readSettings(strings.Fields(args), fakeFiles(content)); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// A megabyte of aliases can stand for terabytes; this one for 40 MiB.
func TestReadSettingsRefusesAliasBomb(t *testing.T) {
	bomb := `a: &a "` + strings.Repeat("x", 400<<10) + "\"\nb:\n" + strings.Repeat("- *a\n", 100)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, args := range [][]string{{"kubelet", "--config=/k/1.conf"}, {"kubelet", "--config-dir=/k"}} {
		if _, err := readSettings(args, fakeFiles(map[string]string{"/k/1.conf": bomb})); err == nil || !strings.Contains(err.Error(), "stand for more than 10 MiB") {
			t.Errorf("%q: %v", args, err)
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
		t.Errorf("allocated %d MiB", used>>20)
	}
}
