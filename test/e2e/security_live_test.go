package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// seen is a pod and what its container must see of itself.
type seen struct {
	name string
	// spec and container are more lines of the pod's and the container's.
	spec, container string
	sees            []see
}

// see is a shell command, and a pattern for all that it prints, its lines
// joined by blanks.
type see struct{ command, want string }

// prelude are commands for both versions of cgroups.
const prelude = `cg=/sys/fs/cgroup
v1() { [ -d $cg/memory ]; }
memory() { if v1; then cat $cg/memory$1/memory.limit_in_bytes; else cat $cg$1/memory.max; fi; }
swap() { if v1; then cat $cg/memory$1/memory.memsw.limit_in_bytes; else cat $cg$1/memory.swap.max; fi; }
cpu() { if v1; then cat $cg/cpu$1/cpu.cfs_quota_us $cg/cpu$1/cpu.cfs_period_us; else cat $cg$1/cpu.max; fi; }
share() { if v1; then cat $cg/cpu$1/cpu.shares; else cat $cg$1/cpu.weight; fi; }
pod() { path=$(sed -n 's/^[0-9]*:\(memory\|\):\(.*\)/\2/p' /proc/self/cgroup | head -n 1); echo ${path%/*}; }
status() { sed -n "s/^$1:[[:space:]]*//p" /proc/self/status; }
`

// manifest has one container c, besides those that spec ends with.
func (s seen) manifest() string {
	var script strings.Builder
	script.WriteString(prelude)
	for i, see := range s.sees {
		fmt.Fprintf(&script, "echo \"see %d:\" $({ %s; } 2>&1)\n", i, see.command)
	}
	script.WriteString("true" + stays)
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  %s
  containers:
  - name: c
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    %s
    command: [sh, -c, %q]
---
`, s.name, indented(s.spec, "  "), indented(s.container, "    "), script.String())
}

func indented(lines, by string) string {
	return strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n"+by)
}

// noMkdir is a seccomp profile.
const noMkdir = `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}]}`

func TestSecurityContextAndLimitsFromInside(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		profiles := p.path("root/seccomp")
		if err := os.MkdirAll(profiles, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(profiles) }) // or it would count as left over
		writeAll(t, filepath.Join(profiles, "no-mkdir.json"), noMkdir)

		pods := append(securityPods(), networkPods(t)...)
		pods = append(pods, limitedPods()...)
		if !privileges(rt) {
			t.Log(noPrivileges)
			pods = slices.DeleteFunc(pods, func(s seen) bool { return s.name == "privileged" })
		}
		var yaml strings.Builder
		for _, s := range pods {
			yaml.WriteString(s.manifest())
		}
		out, errw := p.outputOf(yaml.String(), len(pods), "--allowed-unsafe-sysctls", "kernel.msg*")
		if errw != "" {
			t.Errorf("it printed %s", errw)
		}
		for _, s := range pods {
			for i, see := range s.sees {
				prefix := fmt.Sprintf("default/%s/c | see %d: ", s.name, i)
				_, after, _ := strings.Cut(out, prefix)
				got, _, _ := strings.Cut(after, "\n")
				if !regexp.MustCompile(`^(?:` + see.want + `)$`).MatchString(strings.TrimSpace(got)) {
					t.Errorf("%s: %s\n  got  %q\n  want %q", s.name, see.command, got, see.want)
				}
			}
		}
		if t.Failed() {
			t.Log(out)
		}
	})
}

// The sets of capabilities that runtimes give by default, and NET_BIND_SERVICE
// alone.
const (
	defaultCaps = `00000000a80425fb|00000000a80405fb|00000000800405fb|00000000000005fb`
	bindCap     = `0000000000000400`
)

func securityPods() []seen {
	return []seen{
		{name: "plain", sees: []see{
			{`id`, `uid=0\(root\) gid=0\(root\) groups=0\(root\)`},
			{`status CapEff`, defaultCaps},
			{`status CapBnd`, defaultCaps},
			{`status NoNewPrivs`, `0`},
			{`status Seccomp`, `0`},
			{`touch /x && echo written`, `written`},
			{`for f in /proc/keys /proc/timer_list /proc/kcore; do [ -e $f ] && cat $f; done; ls -A /sys/firmware; ls -A /proc/acpi 2>/dev/null`, ``},
			{`echo 1 > /proc/sys/kernel/shm_rmid_forced`, `.*Read-only file system`},
			{`cat /proc/self/oom_score_adj`, `1000`},
			{`hostname`, `plain`},
			{`ls /dev/kmsg`, `.*No such file or directory`},
		}},
		{
			name: "locked",
			spec: `
securityContext:
  runAsUser: 1234
  runAsGroup: 5678
  runAsNonRoot: true
  supplementalGroups: [9, 10]
  seccompProfile: {type: RuntimeDefault}`,
			container: `
terminationMessagePath: /tmp/last/words
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}`,
			sees: []see{
				{`id -u; id -g; id -G`, `1234 5678 (5678 9 10|9 10 5678)`},
				{`status CapBnd`, bindCap},
				{`status CapEff`, `0000000000000000`},
				{`status NoNewPrivs`, `1`},
				{`echo x > /file`, `.*can't create /file: Read-only file system`},
				{`status Seccomp`, `2`},
				{`touch /x`, `.*Read-only file system`},
				{`touch /tmp/x`, `.*Read-only file system`},
				{`echo bye > /tmp/last/words && echo written`, `written`},
			},
		},
		{
			name:      "over",
			spec:      `securityContext: {runAsUser: 1234, runAsGroup: 5678, seccompProfile: {type: RuntimeDefault}}`,
			container: `securityContext: {runAsUser: 33, capabilities: {drop: [KILL, CHOWN]}, seccompProfile: {type: Unconfined}}`,
			sees: []see{
				{`id -un; id -g`, `www-data 5678`},
				{`status CapBnd`, `00000000a80425da|00000000a80405da|000000008004059a|00000000800405da|00000000000005da`},
				{`status Seccomp`, `0`},
			},
		},
		{
			name:      "local",
			container: `securityContext: {seccompProfile: {type: Localhost, localhostProfile: no-mkdir.json}}`,
			sees: []see{
				{`mkdir /tmp/d`, `.*Operation not permitted`},
				{`touch /tmp/f && echo touched`, `touched`},
				{`status Seccomp`, `2`},
			},
		},
		{
			name:      "privileged",
			container: `securityContext: {privileged: true}`,
			sees: []see{
				{`status CapEff`, allCaps()},
				{`status Seccomp`, `0`},
				{`ls /dev/kmsg /dev/mem 2>/dev/null`, `/dev/kmsg.*`},
				{`cat /proc/sys/kernel/shm_rmid_forced > /proc/sys/kernel/shm_rmid_forced && echo written`, `written`},
				{`mount -t tmpfs none /mnt 2>&1 || mkdir /mnt && mount -t tmpfs none /mnt && echo mounted`, `.*mounted`},
				{`ip link add d0 type dummy && echo added`, dummyLink()},
			},
		},
		{
			name: "tuned",
			spec: `
securityContext:
  sysctls:
  - {name: net.ipv4.tcp_syncookies, value: "0"}
  - {name: net/ipv4/ip_local_port_range, value: "30000 40000"}
  - {name: kernel.shm_rmid_forced, value: "1"}
  - {name: kernel.msgmax, value: "4711"}`,
			sees: []see{
				{`cat /proc/sys/net/ipv4/tcp_syncookies`, `0`},
				{`cat /proc/sys/net/ipv4/ip_local_port_range`, `30000 40000`},
				{`cat /proc/sys/kernel/shm_rmid_forced`, `1`},
				{`cat /proc/sys/kernel/msgmax`, `4711`},
			},
		},
	}
}

// privileges reports whether the runtime can run privileged containers here.
func privileges(rt *live.Instance) bool {
	return !strings.HasPrefix(rt.Kind, live.CRIO) || strings.Trim(allCaps(), "01f") == ""
}

const noPrivileges = "no privileged pod: CRI-O gives it all capabilities, and this machine has not all"

// dummyLink is what a container sees that adds a dummy link, which some kernels do not have.
func dummyLink() string {
	if exec.Command("unshare", "--net", "ip", "link", "add", "d0", "type", "dummy").Run() != nil {
		return ".*not supported|.*Unknown.*"
	}
	return "added"
}

// allCaps are the capabilities of the machine.
func allCaps() string {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), "CapBnd:\t")
	all, _, _ := strings.Cut(after, "\n")
	return all
}

func networkPods(t *testing.T) []seen {
	return []seen{
		{
			name: "named",
			spec: `
hostname: box
subdomain: sub
setHostnameAsFQDN: true
hostAliases: [{ip: 10.9.8.7, hostnames: [db, db.local]}]
dnsPolicy: None
dnsConfig: {nameservers: [192.0.2.53], searches: [a.example, b.example], options: [{name: ndots, value: "3"}, {name: edns0}]}`,
			sees: []see{
				{`hostname`, `box\.sub\.default\.svc\.`},
				{`hostname -f`, `box\.sub\.default\.svc\.`},
				{`tail -n 1 /etc/hosts`, `10\.9\.8\.7 db db\.local`},
				{`grep "^$(hostname -i)" /etc/hosts`, `[0-9.]+ box\.sub\.default\.svc\. box`},
				{`cat /etc/resolv.conf`, `search a\.example b\.example nameserver 192\.0\.2\.53 options edns0 ndots:3`},
			},
		},
		{name: "overridden", spec: "hostname: box\nhostnameOverride: a.b.c", sees: []see{
			{`hostname`, `a\.b\.c`},
			{`grep -c "\\sa.b.c$" /etc/hosts`, `1`},
		}},
		{
			name: "node",
			spec: "hostNetwork: true\nhostPID: true\nhostIPC: true\nhostAliases: [{ip: 10.9.8.7, hostnames: [db]}]",
			sees: []see{
				{`readlink /proc/self/ns/net`, ofHost(t, "net")},
				{`readlink /proc/self/ns/pid`, ofHost(t, "pid")},
				{`readlink /proc/self/ns/ipc`, ofHost(t, "ipc")},
				{`head -n 1 /etc/hosts`, `# Kubernetes-managed hosts file \(host network\)\.`},
				{`tail -n 1 /etc/hosts`, `10\.9\.8\.7 db`},
			},
		},
		{name: "apart", sees: []see{
			{`[ "$(readlink /proc/self/ns/net)" = "` + ofHost(t, "net") + `" ] || echo own`, `own`},
			{`[ "$(readlink /proc/self/ns/ipc)" = "` + ofHost(t, "ipc") + `" ] || echo own`, `own`},
			{`echo $$`, `1`},
		}},
		{name: "shared", spec: `shareProcessNamespace: true`, sees: []see{
			{`cat /proc/1/comm`, `pause`},
		}},
	}
}

// ofHost is a namespace of this process, which is the host's.
func ofHost(t *testing.T, namespace string) string {
	t.Helper()
	link, err := os.Readlink("/proc/self/ns/" + namespace)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.QuoteMeta(link)
}

// leastScore is the oom_score_adj of the containers that are killed last: the own one where
// the machine has no CAP_SYS_RESOURCE, without which no process may lower it.
func leastScore() string {
	const file = "/proc/self/oom_score_adj"
	own, err := os.ReadFile(file)
	if err != nil || os.WriteFile(file, []byte("-997"), 0) != nil {
		return strings.TrimSpace(string(own))
	}
	_ = os.WriteFile(file, own, 0)
	return "-997"
}

func limitedPods() []seen {
	_, unified := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	return []seen{
		{name: "free", sees: []see{
			{`memory`, `9223372036854771712|max`},
			{`cpu`, `-1 100000|max 100000`},
			{`share`, `2|1`},
			{`v1 && echo 1 || cat $cg/memory.oom.group`, `1`},
		}},
		{
			name:      "burstable",
			container: `resources: {requests: {cpu: 250m, memory: 32Mi}, limits: {cpu: 500m, memory: 64Mi}}`,
			sees: []see{
				{`memory`, `67108864`},
				{`swap`, `67108864|0|.*No such file.*`},
				{`cpu`, `50000 100000`},
				{`v1 && share || echo v2`, `256|v2`},
				{`cat /proc/self/oom_score_adj`, `99[0-9]`},
			},
		},
		{
			name:      "guaranteed",
			container: `resources: {limits: {cpu: 200m, memory: 48Mi}}`,
			sees: []see{
				{`memory`, `50331648`},
				{`cpu`, `20000 100000`},
				{`cat /proc/self/oom_score_adj`, leastScore()},
			},
		},
		{
			// With v2, only a privileged container sees the cgroups as the host does.
			name: "together",
			spec: `
resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 300m, memory: 96Mi}}
overhead: {cpu: 100m, memory: 32Mi}
volumes: [{name: cgroups, hostPath: {path: /sys/fs/cgroup}}]`,
			container: fmt.Sprintf("securityContext: {privileged: %v}", unified == nil) + `
volumeMounts: [{name: cgroups, mountPath: /host}]`,
			sees: []see{
				{`memory`, `100663296`},
				{`cg=/host; memory $(pod)`, `134217728`},
				{`cg=/host; cpu $(pod)`, `40000 100000`},
				{`cg=/host; share $(pod)`, `204|8`},
			},
		},
		{
			name:      "class",
			spec:      `priorityClassName: system-node-critical`,
			container: `resources: {requests: {memory: 16Mi}}`,
			sees:      []see{{`cat /proc/self/oom_score_adj`, leastScore()}},
		},
	}
}
