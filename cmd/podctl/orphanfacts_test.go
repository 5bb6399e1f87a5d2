package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

func sourceOf(kind sourceKind, named bool, err error) askedSource {
	return askedSource{Answer: desired.Answer{Source: "somebody", Err: err, Pods: []*v1.Pod{}}, kind: kind, named: named}
}

func TestKillIsRefusedWhereAnAnswerIsMissing(t *testing.T) {
	silent := errors.New("no answer")
	near, follower := &kubelet.Near{PID: 7}, &kubelet.Near{PID: 8, Follows: true}
	ofCluster := wantedOne("web", "uid-web")
	ofCluster.Annotations = map[string]string{pod.ConfigSourceAnnotation: "api"}
	for _, c := range []struct {
		name    string
		kubelet *kubelet.Near
		err     error
		sources []askedSource
		refused string
	}{
		{"nobody is here", nil, nil, nil, ""},
		{"it cannot be told whether a kubelet is", nil, silent, nil, "no answer"},
		{"a podctl is silent: its locks speak", nil, nil, []askedSource{sourceOf(fromPodctl, false, silent)}, ""},
		{"a manifest cannot be read", nil, nil, []askedSource{sourceOf(fromFile, true, silent)}, "what belongs here cannot be told: no answer"},
		{"a kubelet elsewhere is silent that was named", nil, nil, []askedSource{sourceOf(fromKubelet, true, silent)}, "cannot be told"},
		{"the kubelet here was not read", near, nil, []askedSource{sourceOf(fromKubelet, false, silent)}, "a kubelet (pid 7) uses this runtime, and which pods it wants cannot be told: no answer"},
		{"nor with its static pods alone", near, nil, []askedSource{sourceOf(fromKubelet, false, silent), sourceOf(fromStatic, true, nil)}, "a kubelet (pid 7)"},
		{"nor with the cluster alone", near, nil, []askedSource{sourceOf(fromKubelet, false, silent), sourceOf(fromCluster, true, nil)}, "a kubelet (pid 7)"},
		{"both make up for it", near, nil, []askedSource{sourceOf(fromKubelet, false, silent), sourceOf(fromStatic, false, nil), sourceOf(fromCluster, true, nil)}, ""},
		{"the kubelet here may not have heard from its cluster", follower, nil, []askedSource{sourceOf(fromKubelet, false, nil)}, "names no pod of its API server"},
		{"it has", follower, nil, []askedSource{{Answer: desired.Answer{Pods: []*v1.Pod{ofCluster}}, kind: fromKubelet}}, ""},
		{"the cluster was asked, too", follower, nil, []askedSource{sourceOf(fromKubelet, false, nil), sourceOf(fromCluster, true, nil)}, ""},
		{"the kubelet here was read", near, nil, []askedSource{sourceOf(fromKubelet, false, nil)}, ""},
	} {
		v := &orphanView{kubelet: c.kubelet, kubeletErr: c.err, sources: c.sources}
		err := v.refusal()
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}
}

// A podctl that lives and does not answer keeps its pods, and everybody's
// directories.
func TestOrphansOfASilentPodctlAreNone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		live := w.run(keptManifest)
		w.plant("bare", "sleep", "3600")
		w.write("root/pods/uid-dir/etc-hosts", "")
		sockets, err := filepath.Glob(filepath.Join(w.dir, "run/*/*.sock"))
		if err != nil || len(sockets) != 1 {
			t.Fatalf("sockets: %v %v", sockets, err)
		}
		if err := os.Rename(sockets[0], sockets[0]+".aside"); err != nil {
			t.Fatal(err)
		}
		out := w.ran(0, 10*time.Second, "orphans")
		expect(t, out, "default/bare", "directories are not judged: podctl \"run-", "lives and has no socket")
		if fields(out, "default/kept") != "" || fields(out, "uid-dir") != "" {
			t.Errorf("named:\n%s", out)
		}
		expect(t, w.ran(0, time.Minute, "orphans", "--kill", "--rm"), "default/bare removed\n")
		if err := os.Rename(sockets[0]+".aside", sockets[0]); err != nil {
			t.Fatal(err)
		}
		expect(t, fields(w.ran(0, time.Second, "pods"), "default/kept"), "Running syncing")

		// A directory of a podctl on another runtime is its own business.
		other, err := owner.Open(filepath.Join(w.dir, "run/other"), "agent")
		if err != nil {
			t.Fatal(err)
		}
		expect(t, w.ran(0, 10*time.Second, "orphans"), "no orphans", `podctl "agent" lives and has no socket`)
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		w.write("root/pods/uid-dir/podctl.json", `{"owner": "agent@other", "namespace": "default", "name": "theirs"}`)
		w.write("root/pods/uid-held/podctl.json", `{"owner": "agent@`+filepath.Base(filepath.Dir(sockets[0]))+`", "namespace": "default", "name": "held", "held": true}`)
		if out := w.ran(0, 10*time.Second, "orphans"); !strings.HasPrefix(out, "no orphans\n") {
			t.Errorf("named:\n%s", out)
		}
		w.write("root/pods/uid-dir/podctl.json", `{"owner": "agent@`+filepath.Base(filepath.Dir(sockets[0]))+`", "namespace": "default", "name": "ours"}`)
		expect(t, fields(w.ran(0, 10*time.Second, "orphans"), "default/ours"), "directory", "agent, ended")
		live.interrupt()
		live.ends(exitInterrupted, 30*time.Second)
	})
}
