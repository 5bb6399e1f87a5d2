package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// objects are what the volumes of these tests are made of.
const objects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {a.conf: "hello", b.conf: "bee"}
---
apiVersion: v1
kind: Secret
metadata: {name: creds}
stringData: {user: me, word: hunter2}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
`

// mounting is a pod with one volume v at /v; more goes into its spec.
func mounting(name, volume, command string, more ...string) string {
	text := pod(name, command, append([]string{never, "volumes: [{name: v, " + volume + "}]"}, more...)...)
	return strings.Replace(text, "command:", "volumeMounts: [{name: v, mountPath: /v}]\n    command:", 1)
}

// atClaims is a place where claims may be left, which podctl never removes.
func atClaims(t *testing.T, rt *live.Instance) *place {
	t.Helper()
	p := at(t, rt)
	t.Cleanup(func() {
		if err := os.RemoveAll(p.path("root/claims")); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestEveryVolumeSourceFromInside asserts content, owner, modes and medium as
// the container has them: of root without a group, and of a user with one.
func TestEveryVolumeSourceFromInside(t *testing.T) {
	const all = `for f in $(cd /v; find -L . -mindepth 1 -not -path './.*' | sort); do
		echo "$f=$(stat -Lc %a,%u,%g /v/$f),$(test -d /v/$f || cat /v/$f 2>/dev/null || echo denied)"
	done; stat -c 'top=%a,%u,%g' /v; echo "type=$(grep ' /v ' /proc/mounts | cut -d' ' -f3,4 | cut -d, -f1)"
	readlink /v/..data | grep -q '^\.\.2[0-9_]*\.[0-9]*$' && echo atomic
	echo x > /v/new 2>/dev/null && stat -c 'new=%a,%u,%g' /v/new` + stays
	tests := []struct {
		name, volume string
		// root and grouped are what each sees, the modes of plain files without
		// and with a group's.
		root, grouped []string
	}{
		{"configmap", "configMap: {name: app, items: [{key: a.conf, path: d/a}, {key: b.conf, path: b, mode: 0400}]}",
			[]string{"./b=400,0,0,bee", "./d=755,0,0,", "./d/a=644,0,0,hello", "top=777,0,0", "atomic", "type=* ro"},
			[]string{"./b=440,0,2000,bee", "./d=2755,0,2000,", "./d/a=644,0,2000,hello", "top=2777,0,2000", "atomic", "type=* ro"}},
		{"secret", "secret: {secretName: creds, defaultMode: 0400}",
			[]string{"./user=400,0,0,me", "./word=400,0,0,hunter2", "top=1777,0,0", "atomic", "type=tmpfs ro"},
			[]string{"./user=440,0,2000,me", "./word=440,0,2000,hunter2", "top=3777,0,2000", "atomic", "type=tmpfs ro"}},
		{"downward", `downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}, {path: mem, mode: 0600, resourceFieldRef: {containerName: c, resource: requests.memory}}]}`,
			[]string{"./name=644,0,0,downward-0", "./mem=600,0,0,0", "top=1777,0,0", "atomic", "type=tmpfs ro"},
			[]string{"./name=644,0,2000,downward-2000", "./mem=640,0,2000,0", "top=3777,0,2000", "atomic", "type=tmpfs ro"}},
		{"projected", `projected: {defaultMode: 0444, sources: [{configMap: {name: app, items: [{key: a.conf, path: a}]}}, {secret: {name: creds, items: [{key: word, path: s/w, mode: 0400}]}}, {downwardAPI: {items: [{path: ns, fieldRef: {fieldPath: metadata.namespace}}]}}]}`,
			[]string{"./a=444,0,0,hello", "./s=755,0,0,", "./s/w=400,0,0,hunter2", "./ns=444,0,0,default", "top=1777,0,0", "atomic", "type=tmpfs ro"},
			[]string{"./a=444,0,2000,hello", "./s=2755,0,2000,", "./s/w=440,0,2000,hunter2", "./ns=444,0,2000,default", "top=3777,0,2000", "atomic", "type=tmpfs ro"}},
		{"memory", "emptyDir: {medium: Memory}",
			[]string{"top=1777,0,0", "type=tmpfs rw", "new=644,0,0"},
			[]string{"top=3777,0,2000", "type=tmpfs rw", "new=644,1000,2000"}},
		{"disk", "emptyDir: {}",
			[]string{"top=777,0,0", "type=* rw", "new=644,0,0"},
			[]string{"top=2777,0,2000", "type=* rw", "new=644,1000,2000"}},
		{"claim", "persistentVolumeClaim: {claimName: data}",
			[]string{"top=777,0,0", "type=* rw", "new=644,0,0"},
			[]string{"./new=664,0,2000,x", "top=2777,0,2000", "type=* rw", "new=664,0,2000"}},
		{"claim-to-read", "persistentVolumeClaim: {claimName: other, readOnly: true}",
			[]string{"top=777,0,0", "type=* ro"},
			[]string{"top=777,0,0", "type=* ro"}},
	}
	each(t, func(t *testing.T, rt *live.Instance) {
		p := atClaims(t, rt)
		manifest := func(gid, security string) string {
			text := objects + strings.Replace(objects[strings.Index(objects, "apiVersion: v1\nkind: Persist"):], "name: data", "name: other", 1)
			for _, tt := range tests {
				text += mounting(tt.name+"-"+gid, tt.volume, all, security)
			}
			return text
		}
		check(t, p, manifest("0", "securityContext: {runAsUser: 0}"), "0",
			func(i int) (string, []string) { return tests[i].name, tests[i].root }, len(tests))
		check(t, p, manifest("2000", "securityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000}"), "2000",
			func(i int) (string, []string) { return tests[i].name, tests[i].grouped }, len(tests))
	})
}

// check runs the pods NAME-GID, and looks for what each has to see.
func check(t *testing.T, p *place, manifest, gid string, want func(int) (string, []string), n int) {
	t.Helper()
	out, errw := p.outputOf(manifest, n)
	if errw != "" || strings.Contains(out, "Warning") {
		t.Fatalf("%s%s", out, errw)
	}
	for i := range n {
		name, lines := want(i)
		prefix := fmt.Sprintf("default/%s-%s/c | ", name, gid)
		for _, line := range lines {
			before, after, any := strings.Cut(line, "*")
			found := false
			for got := range strings.SplitSeq(out, "\n") {
				text, is := strings.CutPrefix(got, prefix)
				found = found || is && (text == line || any && strings.HasPrefix(text, before) && strings.HasSuffix(text, after))
			}
			if !found {
				t.Errorf("%s does not see %q", name, line)
			}
		}
		if t.Failed() {
			for got := range strings.SplitSeq(out, "\n") {
				if text, is := strings.CutPrefix(got, prefix); is {
					t.Logf("%s-%s: %s", name, gid, text)
				}
			}
		}
	}
}

// TestSecretModeDeniesOtherUsers: a mode that denies access to the container's user does.
func TestSecretModeDeniesOtherUsers(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		out, errw, code := at(t, rt).run(objects+mounting("job", "secret: {secretName: creds, defaultMode: 0400}",
			"cat /v/word; echo over > /v/word; rm -f /v/..data; mount | grep -c hunter2", "securityContext: {runAsUser: 1000}"), "--logs", "-")
		if code == 0 || strings.Contains(out+errw, "hunter2") || !strings.Contains(out, "Permission denied") || !strings.Contains(out, "Read-only file system") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
}

func TestMemoryVolumeLimit(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		out, errw, code := at(t, rt).run(mounting("job", "emptyDir: {medium: Memory, sizeLimit: 1Mi}",
			"dd if=/dev/zero of=/v/f bs=1024 count=2000 2>&1; stat -c size=%s /v/f"), "--logs", "-")
		if code != 0 || !strings.Contains(out, "No space left on device") || !strings.Contains(out, "size=1048576") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
}

// TestEphemeralStorageLimit: what a container writes into its own layer counts, as the
// runtime reports it.
func TestEphemeralStorageLimit(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		yaml := strings.Replace(mounting("job", "emptyDir: {}", "dd if=/dev/zero of=/big bs=1M count=50; sleep 120"),
			"command:", "resources: {limits: {ephemeral-storage: 5Mi}}\n    command:", 1)
		out, errw, code := at(t, rt).run(yaml, "-")
		if code != 1 || !strings.Contains(out+errw, "Pod ephemeral local storage usage exceeds the total limit of containers 5Mi.") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
}

func TestHugePagesAreMounted(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/hugepages/hugepages-2048kB"); err != nil {
		t.Skipf("no huge pages of 2Mi: %v", err)
	}
	each(t, func(t *testing.T, rt *live.Instance) {
		yaml := mounting("job", "emptyDir: {medium: HugePages}", "grep ' /v ' /proc/mounts")
		yaml = strings.Replace(yaml, "command:", "resources: {limits: {memory: 64Mi, hugepages-2Mi: 2Mi}}\n    command:", 1)
		out, errw, code := at(t, rt).run(yaml, "--logs", "-")
		if code != 0 || !strings.Contains(out, "/v hugetlbfs rw") || !strings.Contains(out, "pagesize=2M") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
}

func TestClaimSurvivesItsPods(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := atClaims(t, rt)
		const claim = "persistentVolumeClaim: {claimName: data}"
		if out, errw, code := p.run(objects+mounting("one", claim, "echo kept > /v/f"), "-"); code != 0 {
			t.Fatalf("exit %d\n%s%s", code, out, errw)
		}
		out, errw, code := p.run(objects+mounting("two", claim, "cat /v/f"), "--logs", "-")
		if code != 0 || !strings.Contains(out, "| kept") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		if b, err := os.ReadFile(p.path("root/claims/default/data/f")); err != nil || string(b) != "kept\n" {
			t.Errorf("%q, %v", b, err)
		}
	})
}

func TestMountErrorsMatchKubelet(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt) // `podctl run` refuses what nothing declares
		if err := os.WriteFile(a.path("file"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		text := objects
		var words []string
		add := func(name, volume, want string) {
			text += mounting(name, volume, "true")
			words = append(words, want)
		}
		add("no-configmap", "configMap: {name: none}", `configmap "none" not found`)
		add("no-secret", "secret: {secretName: none}", `secret "none" not found`)
		add("no-key", "configMap: {name: app, items: [{key: none, path: x}]}", "configmap references non-existent config key: none")
		add("no-secret-key", "secret: {secretName: creds, items: [{key: none, path: x}]}", "references non-existent secret key: none")
		add("no-claim", "persistentVolumeClaim: {claimName: none}", `persistentvolumeclaim "none" not found`)
		add("wrong-type", "hostPath: {path: "+a.path("file")+", type: Directory}", "hostPath type check failed: "+a.path("file")+" is not a directory")
		add("no-pages", "emptyDir: {medium: HugePages}", "medium HugePages: hugePages storage requested, but there is no resource request for huge pages")
		a.put("all.yaml", text)
		agent := a.agent()
		for _, want := range words {
			agent.prints(`FailedMount: MountVolume.SetUp failed for volume "v" : ` + want)
		}
		if out, _ := agent.output(); strings.Contains(out, " Running ") {
			t.Errorf("a pod without its volume starts:\n%s", out)
		}
		a.remove("all.yaml")
		a.holds()
		agent.ends(syscall.SIGTERM, 0)
	})
}

// TestMountsOfKilledPodctlAreRemoved: that nothing is left is
// looked at when the test ends.
func TestMountsOfKilledPodctlAreRemoved(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		text := objects + strings.Replace(mounting("web", "secret: {secretName: creds}", server, brief), never, "restartPolicy: Always", 1)
		first := p.start(text, "-")
		first.prints("c started") // else the runtime may call the start off
		first.signal(syscall.SIGKILL)
		first.wait()
		mounts, err := filepath.Glob(p.path("root/pods/*/volumes/kubernetes.io~secret/v/word"))
		if err != nil || len(mounts) != 1 {
			t.Errorf("the killed podctl left %v, %v", mounts, err)
		}
		second := p.start(text, "--logs", "-")
		second.prints("already holds the pod")
		second.signal(syscall.SIGINT)
		if code := second.wait(); code != 130 {
			t.Errorf("exit %d", code)
		}
	})
}

// TestRunningContainerSeesConfigurationChanges: in its volumes, but not in
// a part of one that was mounted by subPath, and without being restarted.
func TestRunningContainerSeesConfigurationChanges(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		config := func(value string) string {
			return fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {k: "%[1]s"}
---
apiVersion: v1
kind: Secret
metadata: {name: creds}
stringData: {k: "s%[1]s"}
`, value)
		}
		a.put("config.yaml", config("1"))
		a.put("pod.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 2
  securityContext: {runAsUser: 1000, fsGroup: 2000}
  volumes:
  - {name: mark, hostPath: {path: `+a.path("mark")+`, type: Directory}}
  - {name: cfg, configMap: {name: app}}
  - {name: sec, secret: {secretName: creds, defaultMode: 0400}}
  - {name: proj, projected: {sources: [{configMap: {name: app}}, {secret: {name: creds, items: [{key: k, path: d/s}]}}]}}
  containers:
  - name: c
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    volumeMounts:
    - {name: mark, mountPath: /mark}
    - {name: cfg, mountPath: /cfg}
    - {name: cfg, mountPath: /one, subPath: k}
    - {name: sec, mountPath: /sec}
    - {name: proj, mountPath: /proj}
    command:
    - sh
    - -c
    - |
      trap "exit 0" TERM
      see() {
        now=$(cat $2)
        if [ "$now" != "$(tail -n 1 /mark/$1 2>/dev/null)" ]; then echo "$now" >> /mark/$1; fi
      }
      echo started >> /mark/starts
      while sleep 0.05; do see cfg /cfg/k; see sec /sec/k; see proj /proj/k; see deep /proj/d/s; see one /one; done
`)
		if err := os.Chmod(a.path("mark"), 0o777); err != nil {
			t.Fatal(err)
		}
		proc := a.agent()
		a.wrote("one", "1")
		a.wrote("deep", "s1")
		a.put("config.yaml", config("2"))
		for name, lines := range map[string][]string{"cfg": {"1", "2"}, "sec": {"s1", "s2"}, "proj": {"1", "2"}, "deep": {"s1", "s2"}} {
			a.wrote(name, lines...)
		}
		a.has("one", "1")
		a.has("starts", "started")
		a.remove("pod.yaml")
		a.holds()
		proc.signal(syscall.SIGTERM)
		proc.wait()
	})
}
