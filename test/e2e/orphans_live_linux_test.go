package e2e

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
)

// orphan is an element of what `podctl orphans -o json` prints.
type orphan struct {
	Metadata                      struct{ Namespace, Name, UID string }
	Class, Owner, Result, Sandbox string
	Containers, Running           int
	Mounts, Steps                 []string
}

// orphans are those that podctl names, by name or, of a directory, UID.
func (p *place) orphans(args ...string) map[string]orphan {
	p.t.Helper()
	out := p.does(append([]string{"orphans", "-o", "json"}, args...)...)
	var list []orphan
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		p.t.Fatalf("%v in %s", err, out)
	}
	all := map[string]orphan{}
	for _, o := range list {
		name := o.Metadata.Name
		if name == "" {
			name = o.Metadata.UID
		}
		if _, twice := all[name]; twice {
			p.t.Errorf("%s is named twice:\n%s", name, out)
		}
		all[name] = o
	}
	return all
}

func classes(orphans map[string]orphan) string {
	var all []string
	for name, o := range orphans {
		all = append(all, name+" "+o.Class)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// planter makes pods with CRI calls alone.
type planter struct {
	p *place
	c *bare.Client
}

func (p *place) planter() planter {
	p.t.Helper()
	c, err := bare.Dial(p.rt.Endpoint)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	return planter{p, c}
}

// plant makes a pod as crictl makes it.
func (l planter) plant(name string) *bare.Pod {
	l.p.t.Helper()
	return l.make(bare.Spec{Name: name, Unlabelled: true})
}

// make makes a pod that outlives SIGTERM.
func (l planter) make(s bare.Spec) *bare.Pod {
	l.p.t.Helper()
	dir := l.p.path("mark/" + s.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		l.p.t.Fatal(err)
	}
	s.Image, s.Command, s.LogDir = "docker.io/library/busybox:latest", []string{"sh", "-c", stubborn}, dir
	b, err := l.c.Start(l.p.t.Context(), s)
	if err != nil {
		l.p.t.Fatal(err)
	}
	return b
}

// pods are the pods of the runtime by the bare list of its sandboxes.
func (l planter) pods() string {
	l.p.t.Helper()
	list, err := l.c.Runtime.ListPodSandbox(l.p.t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		l.p.t.Fatal(err)
	}
	var all []string
	for _, s := range list.Items {
		all = append(all, s.Metadata.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// One orphan of each kind beside the pods of a living run: all of them are listed
// and terminated, and nothing else.
func TestOrphansKillTerminatesOnlyOrphans(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		killed := p.start(p.marked("killed", `echo up >> /mark/service; `+obedient, brief), "-")
		p.gets(1)
		killed.prints("c started") // else the runtime may call the start off
		killed.signal(syscall.SIGKILL)
		killed.wait()
		matches(t, lineOf(p.does("orphans"), "default/killed"), `^default/killed abandoned \d+s 1 running run-[0-9a-f]{8}, exited \d+s ago its podctl process was killed$`)
		l := p.planter()
		l.plant("bare")
		// The files that crictl reads are copied, and the UID with them.
		l.make(bare.Spec{Name: "copied", UID: "uid-bare", Unlabelled: true})
		stopped := l.plant("stopped")
		if err := l.c.Stop(t.Context(), stopped); err != nil {
			t.Fatal(err)
		}
		forgotten := p.path("root/pods/forgotten/volumes/kubernetes.io~empty-dir/cache")
		if err := os.MkdirAll(forgotten, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", forgotten, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(forgotten, 0) }) // it has gone, if the test passes
		run := p.start(pod("web", obedient, brief), "-")
		run.prints("c started")

		if got, want := l.pods(), "bare copied killed stopped web"; got != want {
			t.Fatalf("planted %s, want %s", got, want)
		}
		const all = "bare runtime-only, copied runtime-only, forgotten directory, killed abandoned, stopped not-ready"
		found := p.orphans()
		if got := classes(found); got != all {
			t.Errorf("found %s, want %s", got, all)
		}
		if o := found["killed"]; !strings.HasPrefix(o.Owner, "run-") || o.Running != 1 || o.Sandbox == "" {
			t.Errorf("killed: %+v", o)
		}
		if o := found["forgotten"]; len(o.Mounts) != 1 || o.Mounts[0] != forgotten {
			t.Errorf("forgotten: %+v", o)
		}
		out := p.does("orphans")
		t.Logf("\n%s", out)
		matches(t, lineOf(out, "default/killed"), `^default/killed abandoned \d+s 1 running run-[0-9a-f]{8}, exited its podctl process was killed, or run --keep left it running$`)
		matches(t, lineOf(out, "asked:"), `^asked: run-[0-9a-f]{8} \(1 pod\) · no kubelet uses this runtime$`)

		before := l.pods()
		dry := p.does("orphans", "--kill", "--rm", "--dry-run")
		if l.pods() != before || classes(p.orphans()) != all {
			t.Errorf("a dry run changed something:\n%s", dry)
		}
		out = p.does("orphans", "--kill", "bare")
		t.Logf("\n%s", out)
		for _, step := range []string{`default/bare: StopContainer \w+ \(c\), grace 1s\n`, `default/bare: StopPodSandbox \w+\n`, `default/bare ended\n`} {
			if !regexp.MustCompile(step).MatchString(out) {
				t.Errorf("no %s in:\n%s", step, out)
			}
		}
		if got, want := classes(p.orphans()), strings.Replace(all, "bare runtime-only", "bare not-ready", 1); got != want {
			t.Errorf("after --kill bare: %s, want %s", got, want)
		}

		// What podctl has not mounted stays, and keeps the directory.
		foreign := filepath.Join(forgotten, "foreign")
		if err := os.Mkdir(foreign, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(p.path("mark"), foreign, "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		_, errw, code := p.podctl("orphans", "--kill", "--rm", "forgotten")
		if code != 1 || !strings.Contains(errw, "still mounted in it: ") || len(p.marks("service")) == 0 {
			t.Errorf("with a foreign mount: exit %d\n%s", code, errw)
		}
		if err := syscall.Unmount(foreign, 0); err != nil {
			t.Fatal(err)
		}

		t.Logf("\n%s", p.does("orphans", "--kill", "--rm"))
		if got, want := l.pods(), "web"; got != want {
			t.Errorf("after --kill --rm the runtime holds %s, want %s", got, want)
		}
		if left := p.orphans(); len(left) > 0 {
			t.Errorf("left: %s", classes(left))
		}
		matches(t, lineOf(p.does("pods"), "default/web"), `^default/web Running syncing run-`)
		dirs, err := filepath.Glob(p.path("root/pods/*"))
		if err != nil || len(dirs) != 1 {
			t.Errorf("pod directories: %v %v, want one", dirs, err)
		}
		run.signal(syscall.SIGINT)
		run.wait()
	})
}

// A pod is not orphaned where the kubelet has not said which pods it wants.
func TestOrphansKillRefusesUntilTheKubeletAnswers(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		l := p.planter()
		theirs := l.make(bare.Spec{Name: "theirs"}) // with a kubelet's labels
		l.plant("ours")
		p.kubelet()
		// One that has just started may not have read its sources.
		for answer, why := range map[string]string{
			`{"kind": "PodList", "items": []}`: "it names no pod",
			`{"kind": "PodList", "items": [{"metadata": {"name": "other", "namespace": "default", "uid": "uid-other"}}]}`: "it was started ",
		} {
			out, errw, code := p.podctl("orphans", "--kill", "--rm", "--kubelet", serve(t, answer), "theirs")
			if code != 1 || !strings.Contains(errw, why) || l.pods() != "ours theirs" {
				t.Errorf("--kill beside a kubelet that has not settled: exit %d, the runtime holds %s\n%s%s", code, l.pods(), out, errw)
			}
		}
		matches(t, p.does("orphans"), `(?m)^not read: kubelet https://127.0.0.1:10250: `)
		out, errw, code := p.podctl("orphans", "--kill", "theirs")
		if code != 1 || !strings.Contains(errw, "a kubelet (pid ") || strings.Contains(out, "StopContainer") {
			t.Errorf("--kill beside a kubelet that says nothing: exit %d\n%s%s", code, out, errw)
		}
		if got := l.pods(); got != "ours theirs" {
			t.Errorf("the runtime holds %s", got)
		}
		answer := `{"kind": "PodList", "items": [{"metadata": {"name": "theirs", "namespace": "default", "uid": "uid-theirs"}}]}`
		at := serve(t, answer)
		if got := classes(p.orphans("--kubelet", at)); got != "ours runtime-only" {
			t.Errorf("orphans: %s", got)
		}
		matches(t, lineOf(p.does("orphans", "--kubelet", at), "asked:"), `^asked: kubelet `+at+` \(1 pod\) · a kubelet \(pid \d+\) uses this runtime$`)
		p.does("orphans", "--kill", "--rm", "--kubelet", at)
		if got := l.pods(); got != "theirs" {
			t.Errorf("after --kill the runtime holds %s", got)
		}
		if err := errors.Join(l.c.Stop(t.Context(), theirs), l.c.Remove(t.Context(), theirs)); err != nil {
			t.Error(err)
		}
	})
}

// Anyone may listen at a port of the kubelet's configuration: what another process
// answers there makes no pod an orphan.
func TestOrphansKillDoesNotBelieveAnImpostorOfTheKubelet(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		l := p.planter()
		theirs := l.make(bare.Spec{Name: "theirs"}) // with a kubelet's labels
		if err := l.c.Stop(t.Context(), theirs); err != nil {
			t.Fatal(err) // one that runs would count as terminated by the kubelet
		}
		impostor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := `{"kind": "PodList", "items": [{"metadata": {"name": "other", "namespace": "default", "uid": "uid-other"}}]}`
			if r.URL.Path == "/metrics" {
				answer = `kubelet_working_pods{config="desired",lifecycle="sync",static=""} 1` + "\n"
			}
			_, _ = w.Write([]byte(answer))
		}))
		t.Cleanup(impostor.Close)
		p.kubelet("--address=127.0.0.1", "--read-only-port="+impostor.URL[strings.LastIndex(impostor.URL, ":")+1:])
		out, errw, code := p.podctl("orphans", "--kill", "--rm", "theirs")
		if code != 1 || !strings.Contains(errw, "answered by another process than the kubelet (pid ") || l.pods() != "theirs" {
			t.Errorf("--kill beside an impostor: exit %d, the runtime holds %s\n%s%s", code, l.pods(), out, errw)
		}
		if err := l.c.Remove(t.Context(), theirs); err != nil {
			t.Error(err)
		}
	})
}

// serve answers every request with the same, and returns its address.
func serve(t *testing.T, answer string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
	t.Cleanup(s.Close)
	return s.URL
}
