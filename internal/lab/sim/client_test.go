package sim_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/testkit/testutil"
)

// exec runs a script in a container and returns what it prints and says.
func (n *node) exec(id, script string) (stdout, stderr string) {
	n.t.Helper()
	resp, err := n.rt.ExecSync(n.t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"sh", "-c", script}})
	if err != nil {
		n.t.Fatal(err)
	}
	return string(resp.Stdout), string(resp.Stderr)
}

// TestEveryMethodIsAnswered, but those that containerd does not implement.
func TestEveryMethodIsAnswered(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		for _, method := range trace.MethodNames() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // of streams
			defer cancel()
			var err error
			for _, service := range []string{"Runtime", "Image"} { // of one of them it is
				answer := &emptypb.Empty{}
				if err = n.cc.Invoke(ctx, "/runtime.v1."+service+"Service/"+method, answer, answer); status.Code(err) != codes.Unimplemented {
					break
				}
			}
			missing := slices.Contains([]string{"CheckpointPod", "RestorePod"}, method)
			if got := status.Code(err) == codes.Unimplemented; got != missing {
				t.Errorf("%s: %v", method, err)
			}
		}
	})
}

// TestShortIDs: crictl passes on the beginning of an id that somebody types.
func TestShortIDs(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		id := n.run("sleep 60")
		if got := n.status(id[:6]).Id; got != id {
			t.Errorf("%q is %q", id[:6], got)
		}
		if _, err := n.rt.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{}); status.Code(err) != codes.NotFound {
			t.Errorf("an empty id: %v", err)
		}
	})
}

// TestFiles: mounts are read from the host and written in memory, but for the termination
// message; what is read-only stays as it is.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	key := write("key", "value\n")
	message := write("message", "")
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		pod := sandboxConfig("p")
		pod.DnsConfig = &runtimeapi.DNSConfig{Servers: []string{"10.0.0.10"}}
		cfg := containerConfig("sleep", "60")
		cfg.Annotations = map[string]string{"io.kubernetes.container.terminationMessagePath": "/dev/termination-log"}
		cfg.Mounts = []*runtimeapi.Mount{
			{HostPath: dir, ContainerPath: "/data"}, {HostPath: dir, ContainerPath: "/ro", Readonly: true},
			{HostPath: key, ContainerPath: "/dev/termination-log"}, {HostPath: dir, ContainerPath: "/dev//////////////////////"},
			{HostPath: message, ContainerPath: "/dev/termination-log"},
		}
		cfg.Linux.SecurityContext.ReadonlyPaths = []string{"/tmp"}
		id := n.create(n.runPod(pod), pod, cfg)
		n.start(id)
		for _, c := range [][2]string{
			{"cat /data/key; ls /ro", "value\nkey\nmessage\n"},
			{"echo 2 > /data/new; cat /ro/new; ls /data", "2\nkey\nmessage\nnew\n"},
			{"rm /data/key; ls /data", "message\nnew\n"},
			{"cd /ro; touch x", "touch: x: Read-only file system\n"},
			{"echo x > /tmp/x", "sh: can't create /tmp/x: Read-only file system\n"},
			{"cat /etc/resolv.conf; hostname", "nameserver 10.0.0.10\np\n"},
			{"cat /data/none", "cat: can't open '/data/none': No such file or directory\n"},
			{"hostname other; mount -t tmpfs none /x", "hostname: sethostname: Operation not permitted\nmount: permission denied (are you root?)\n"},
			{"echo bye > /dev/termination-log; id -G; cd /; ls", "0\nbin\ndev\netc\nhome\nproc\nroot\nrun\nsys\ntmp\nusr\nvar\n"},
		} {
			if stdout, stderr := n.exec(id, c[0]); stdout+stderr != c[1] {
				t.Errorf("%s: %q, want %q", c[0], stdout+stderr, c[1])
			}
		}
		if got, err := os.ReadFile(message); string(got) != "bye\n" || err != nil {
			t.Errorf("termination message %q, %v", got, err)
		}
		if left, err := os.ReadDir(dir); len(left) != 2 || err != nil {
			t.Errorf("the host has %v, %v", left, err)
		}
	})
}

// TestScriptOfAnAnnotation replaces the command; its memory has the container's limit.
func TestScriptOfAnAnnotation(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		pod := sandboxConfig("p")
		pod.Annotations = map[string]string{
			sim.ScriptAnnotation: "exit 9", sim.ScriptAnnotation + ".c": "[ $ATTEMPT = 0 ] && exit 3; grow 8Mi 10s; sleep 60",
		}
		sb := n.runPod(pod)
		for attempt, want := range []string{"3 Error", "137 OOMKilled"} {
			cfg := containerConfig("sleep", "infinity")
			cfg.Metadata.Attempt = uint32(attempt)
			cfg.Linux.Resources = &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 5 << 20}
			id := n.create(sb, pod, cfg)
			n.start(id)
			time.Sleep(3 * time.Second)
			if stats, err := n.rt.ContainerStats(t.Context(), &runtimeapi.ContainerStatsRequest{ContainerId: id}); attempt == 1 && (err != nil || stats.Stats.Memory.WorkingSetBytes.Value <= 3<<20 || stats.Stats.Memory.UsageBytes.GetValue() <= 3<<20) {
				t.Errorf("memory after 3 s: %v, %v", stats, err)
			}
			time.Sleep(5 * time.Second)
			if st := n.status(id); fmt.Sprint(st.ExitCode, " ", st.Reason) != want {
				t.Errorf("attempt %d: %d %s, want %s", attempt, st.ExitCode, st.Reason, want)
			}
		}
	})
}

// TestImagesOfAFile: names, users, commands and pulls.
func TestImagesOfAFile(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		if err := n.sim.LoadImages([]byte(`{images: [
			{names: ["app:1", "mirror.example/app:1"], uid: 1000, gid: 1000, groups: [7], command: [sh, -c, "id -G; exit 4"]},
			{names: [private], error: denied, absent: true}]}`)); err != nil {
			t.Fatal(err)
		}
		spec := func(name string) *runtimeapi.ImageSpec { return &runtimeapi.ImageSpec{Image: name} }
		app, err := n.img.ImageStatus(t.Context(), &runtimeapi.ImageStatusRequest{Image: spec("mirror.example/app:1")})
		if err != nil || !slices.Equal(app.Image.RepoTags, []string{"docker.io/library/app:1", "mirror.example/app:1"}) || app.Image.Uid.GetValue() != 1000 {
			t.Errorf("image %v, %v", app, err)
		}
		pod, cfg := sandboxConfig("p"), containerConfig()
		cfg.Image = spec(app.Image.Id[7:20])
		id := n.create(n.runPod(pod), pod, cfg)
		n.start(id)
		synctest.Wait()
		if st := n.status(id); st.ExitCode != 4 || !slices.Equal(st.User.Linux.SupplementalGroups, []int64{1000, 7}) {
			t.Errorf("status %v", st)
		}
		if _, err := n.img.PullImage(t.Context(), &runtimeapi.PullImageRequest{Image: spec("private")}); !strings.Contains(status.Convert(err).Message(), "denied") {
			t.Errorf("pull: %v", err)
		}
		if err := n.sim.LoadImages([]byte("images: [{name: a}]")); err == nil {
			t.Error("an unknown field is accepted")
		}
	})
}

// TestFillIsTheSameForASeed, and another for another one.
func TestFillIsTheSameForASeed(t *testing.T) {
	filled := func(seed uint64) (names []string) {
		bubble(t, sim.Options{}, func(t *testing.T, n *node) {
			if err := n.sim.Fill(t.Context(), 5, seed); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			pods, err := n.rt.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range pods.Containers {
				names = append(names, c.Labels["io.kubernetes.pod.name"]+" "+c.Metadata.Name+" "+c.State.String())
			}
		})
		return names
	}
	if a, b, c := filled(1), filled(1), filled(2); !slices.Equal(a, b) || slices.Equal(a, c) || len(a) < 5 {
		t.Errorf("seed 1: %q\nagain: %q\nseed 2: %q", a, b, c)
	}
}

// TestMetricsFitTheirDescriptors: as many label values as keys.
func TestMetricsFitTheirDescriptors(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		n.run("sleep 60")
		described, err := n.rt.ListMetricDescriptors(t.Context(), &runtimeapi.ListMetricDescriptorsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string]int{}
		for _, d := range described.Descriptors {
			labels[d.Name] = len(d.LabelKeys)
		}
		pods, err := n.rt.ListPodSandboxMetrics(t.Context(), &runtimeapi.ListPodSandboxMetricsRequest{})
		if err != nil || len(pods.PodMetrics) != 1 {
			t.Fatalf("%v, %v", pods, err)
		}
		all := append(pods.PodMetrics[0].Metrics, pods.PodMetrics[0].ContainerMetrics[0].Metrics...)
		for _, m := range all {
			if labels[m.Name] != len(m.LabelValues) {
				t.Errorf("%s has %d values, want %d", m.Name, len(m.LabelValues), labels[m.Name])
			}
		}
		if len(all) != len(labels) {
			t.Errorf("%d metrics, %d are described", len(all), len(labels))
		}
	})
}

// TestLoopback: a container that listens is reached at its pod's address and its host port.
func TestLoopback(t *testing.T) {
	free, err := net.Listen("tcp", "127.88.0.2:0")
	if err != nil {
		t.Skipf("no address of the loopback: %v", err) // not Linux
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	r := sim.New(sim.Options{})
	defer r.Close()
	r.SetLoopback()
	pod, cfg := sandboxConfig("p"), containerConfig("sh", "-c", "mkdir /var/www; echo hello > /var/www/x; httpd -p "+strconv.Itoa(port))
	pod.PortMappings = []*runtimeapi.PortMapping{{HostPort: int32(port), ContainerPort: int32(port)}}
	made, err := r.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: pod})
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: made.PodSandboxId, Config: cfg, SandboxConfig: pod})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: c.ContainerId}); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.88.0.2", "127.0.0.1"} {
		var got string
		url := fmt.Sprintf("http://%s:%d/x", host, port)
		if !testutil.Poll(10*time.Second, func() bool {
			resp, err := http.Get(url)
			if err != nil {
				return false
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			got = string(body)
			return err == nil && got == "hello\n"
		}) {
			t.Errorf("%s: %q", url, got)
		}
	}
	if _, err := r.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: made.PodSandboxId}); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		conn.Close()
		t.Error("the host port is open when its pod has stopped")
	}
}
