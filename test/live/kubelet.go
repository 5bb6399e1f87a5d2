package live

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/testkit/testutil"
)

// Kinds of hack/runtime that have a kubelet beside the runtime.
const (
	KubeletKind     = "kubelet"      // on containerd
	KubeletCRIOKind = "kubelet-crio" // on CRI-O
	KubeletSimKind  = "kubelet-sim"  // on podctl sim
)

// Kubelet is a real kubelet v1.37.2 on a private runtime. It is
// standalone: it runs the static pods of a directory, and no API server knows
// of it. It terminates every pod on its runtime that it does not know.
type Kubelet struct {
	// Runtime is that runtime. Its CgroupRoot is not the kubelet's.
	Runtime *Instance
	// Static is the directory of static pods, Root is --root-dir, Config the
	// file of --config.
	Static, Root, Config string
	// URL is the secure port, which lets everyone in, Healthz the port of
	// /healthz, ReadOnly the read-only port (of the configuration: a flag may
	// have switched it off). All are on 127.0.0.1.
	URL, Healthz, ReadOnly string
}

// StartKubelet starts a kubelet for one test and waits until it is healthy; it
// is taken down with its pods when the test ends. Flags such as
// "--read-only-port=0" or "--hostname-override=node-1" go to the kubelet.
// Where none can run, the test is skipped.
func StartKubelet(t testing.TB, flags ...string) *Kubelet {
	t.Helper()
	return StartKubeletOf(t, KubeletKind, flags...)
}

// StartKubeletOf is like StartKubelet for one of the kinds that have a kubelet.
func StartKubeletOf(t testing.TB, kind string, flags ...string) *Kubelet {
	t.Helper()
	rt := Runtime(t, kind, Private(), func(o *options) { o.kubeletFlags = flags })
	k := &Kubelet{
		Runtime: rt,
		Static:  filepath.Join(rt.run, "kubelet/static"),
		Config:  filepath.Join(rt.run, "kubelet/config.yaml"),
		Root:    filepath.Join(rt.lib, "kubelet"),
	}
	third, err := strconv.Atoi(rt.subnet()[strings.LastIndex(rt.subnet(), ".")+1:])
	if err != nil {
		t.Fatalf("subnet of %s: %v", rt.Name, err)
	}
	port := 21000 + 10*third // as in hack/lib/kubelet.sh
	k.URL = fmt.Sprintf("https://127.0.0.1:%d", port)
	k.Healthz = fmt.Sprintf("http://127.0.0.1:%d", port+1)
	k.ReadOnly = fmt.Sprintf("http://127.0.0.1:%d", port+2)
	t.Cleanup(func() {
		if log, err := os.ReadFile(filepath.Join(rt.lib, "kubelet.log")); t.Failed() && err == nil {
			t.Logf("end of the kubelet's log:\n%s", log[max(0, len(log)-3<<10):])
		}
	})
	return k
}

// WriteStatic writes a manifest into the directory of static pods in one step.
func (k *Kubelet) WriteStatic(t testing.TB, file, manifest string) {
	t.Helper()
	tmp := filepath.Join(filepath.Dir(k.Static), file+".tmp")
	if err := os.WriteFile(tmp, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(k.Static, file)); err != nil {
		t.Fatal(err)
	}
}

// RemoveStatic removes a manifest: the kubelet then terminates its pods.
func (k *Kubelet) RemoveStatic(t testing.TB, file string) {
	t.Helper()
	if err := os.Remove(filepath.Join(k.Static, file)); err != nil {
		t.Fatal(err)
	}
}

// PID is the process id of the kubelet that was started last.
func (k *Kubelet) PID(t testing.TB) int {
	t.Helper()
	pid, err := strconv.Atoi(k.Runtime.fact("kubelet/pid"))
	if err != nil {
		t.Fatalf("pid of the kubelet: %v", err)
	}
	return pid
}

// Kill ends the kubelet with SIGKILL and returns when it is gone. Its pods go on
// running.
func (k *Kubelet) Kill(t testing.TB) {
	t.Helper()
	pid := k.PID(t)
	k.Signal(t, syscall.SIGKILL)
	eventually(t, fmt.Sprintf("the kubelet, process %d, ends", pid), func() bool { return ended(pid) })
}

// Signal sends the kubelet a signal: SIGSTOP freezes it, SIGCONT wakes it.
func (k *Kubelet) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(k.PID(t), signal); err != nil {
		t.Fatalf("signal the kubelet: %v", err)
	}
}

// Start starts the kubelet again and waits until it is healthy. Flags replace
// those of its earlier start, if any are given.
func (k *Kubelet) Start(t testing.TB, flags ...string) {
	t.Helper()
	k.Runtime.kubeletFlags = flags
	k.Runtime.Start(t)
}

// Launch starts the kubelet again and returns at once, before it has read a
// manifest or answers a request.
func (k *Kubelet) Launch(t testing.TB) {
	t.Helper()
	old := k.Runtime.fact("kubelet/pid")
	cmd := exec.Command(filepath.Join(k.Runtime.run, "kubelet/run"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }() // it is killed in the end
	eventually(t, "the kubelet writes its process id", func() bool { return k.Runtime.fact("kubelet/pid") != old })
}

// Pods asks the kubelet for its pods, as /pods on its secure port lists them.
func (k *Kubelet) Pods(t testing.TB) []v1.Pod {
	t.Helper()
	var list v1.PodList
	if err := json.Unmarshal([]byte(k.Get(t, "/pods")), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// Get asks the kubelet's secure port and returns what it answers with 200.
func (k *Kubelet) Get(t testing.TB, path string) string {
	t.Helper()
	// The certificate is self-signed, and the port that of a process of our own.
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}
	var resp *http.Response
	eventually(t, "the kubelet's port is open", func() bool {
		var err error
		resp, err = client.Get(k.URL + path)
		return err == nil
	})
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("ask the kubelet for %s: %s %v\n%s", path, resp.Status, err, body)
	}
	return string(body)
}

// Runs waits until the kubelet reports these pods, and no others, as running.
// Names are without the "-NODE" that the kubelet appends.
func (k *Kubelet) Runs(t testing.TB, names ...string) {
	t.Helper()
	want := map[string]bool{}
	for _, n := range names {
		want[n] = true
	}
	var got []string
	ok := testutil.Poll(Timeout, func() bool {
		got = nil
		running := 0
		for _, p := range k.Pods(t) {
			name := p.Name[:len(p.Name)-len("-"+p.Spec.NodeName)]
			got = append(got, fmt.Sprintf("%s %s", name, p.Status.Phase))
			if want[name] && p.Status.Phase == v1.PodRunning {
				running++
			}
		}
		return running == len(names) && len(got) == len(names)
	})
	if !ok {
		t.Fatalf("the kubelet has %q, want %q running", got, names)
	}
}
