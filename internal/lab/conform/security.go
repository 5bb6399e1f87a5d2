package conform

import (
	"slices"
	"strconv"

	"github.com/podctl/podctl/internal/cri"
)

// has reports whether a set of capabilities in /proc/self/status has a bit.
func (f Facts) has(set string, bit uint) bool {
	bits, _ := strconv.ParseUint(f.Status[set], 16, 64)
	return bits&(1<<bit) != 0
}

// Bits of capabilities.
const (
	capChown    = 0
	capKill     = 5
	capNetAdmin = 12
	capSysAdmin = 21
)

// maskedPaths are some of those that runtimes mask; a kernel need not have each.
var maskedPaths = []string{"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/scsi", "/sys/firmware"}

var security = []Behaviour{
	{
		Name: "run-as", About: "runAsUser, runAsGroup and supplementalGroups, of the pod and of a container",
		Spec: `securityContext: {runAsUser: 1000, runAsGroup: 1001, supplementalGroups: [3000, 3001]}
containers: [{name: a, args: [facts]}, {name: b, args: [facts], securityContext: {runAsUser: 2000, runAsNonRoot: true}}]
`,
		Judge: func(s *Observation, c *Check) {
			a, b := s.facts(c, "a"), s.facts(c, "b")
			c.Equal("user and group of a", []int{a.UID, a.GID}, []int{1000, 1001})
			c.Equal("user and group of b", []int{b.UID, b.GID}, []int{2000, 1001})
			for _, g := range []int{3000, 3001} {
				c.That(slices.Contains(a.Groups, g), "the groups %v do not have %d", a.Groups, g)
			}
			c.Equal("effective capabilities of a user", a.Status["CapEff"], "0000000000000000")
		},
	},
	{
		Name: "capabilities", About: "capabilities are dropped and added, also those of ALL",
		Spec: `containers:
- {name: a, args: [facts], securityContext: {capabilities: {add: [NET_ADMIN], drop: [KILL]}}}
- {name: b, args: [facts], securityContext: {capabilities: {drop: [ALL], add: [CHOWN]}}}
`,
		Judge: func(s *Observation, c *Check) {
			a, b := s.facts(c, "a"), s.facts(c, "b")
			c.That(a.has("CapEff", capNetAdmin) && a.has("CapBnd", capNetAdmin), "NET_ADMIN was not added")
			c.That(!a.has("CapEff", capKill) && !a.has("CapBnd", capKill), "KILL was not dropped")
			c.That(a.has("CapEff", capChown), "CHOWN is not among the defaults")
			c.Equal("capabilities of b", b.Status["CapEff"], "0000000000000001")
			c.Equal("inheritable capabilities", a.Status["CapInh"], "0000000000000000")
		},
	},
	{
		Name: "privileged", About: "a privileged container has the host's capabilities and devices, and no seccomp filter",
		Spec: `containers: [{name: c, args: ["facts:/dev/kmsg"], securityContext: {privileged: true}}]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			c.Equal("the bounding set", f.Status["CapBnd"], s.Host.Status["CapBnd"])
			c.Equal("seccomp", f.Status["Seccomp"], "0")
			c.Equal("/dev/kmsg", f.Files["/dev/kmsg"].Err, "")
			c.That(!f.at("/sys").readOnly(), "/sys is read-only")
		},
	},
	{
		Name: "read-only-root", About: "readOnlyRootFilesystem, with a volume that can be written",
		Spec: `volumes: [{name: v, emptyDir: {}}]
containers: [{name: c, args: ["facts:/", "write:/x=1", "write:/v/x=1"], securityContext: {readOnlyRootFilesystem: true}, volumeMounts: [{name: v, mountPath: /v}]}]
`,
		Judge: func(s *Observation, c *Check) {
			c.That(s.facts(c, "c").at("/").readOnly(), "/ is writable")
			c.That(len(s.text("c")) == 1, "what was written: %q", s.text("c"))
		},
	},
	{
		Name: "seccomp", About: "RuntimeDefault is a filter, Unconfined is none; of the pod and of a container",
		Spec: `securityContext: {seccompProfile: {type: RuntimeDefault}}
containers: [{name: a, args: [facts]}, {name: b, args: [facts], securityContext: {seccompProfile: {type: Unconfined}}}]
`,
		Judge: func(s *Observation, c *Check) {
			c.Equal("seccomp of a", s.facts(c, "a").Status["Seccomp"], "2")
			c.Equal("seccomp of b", s.facts(c, "b").Status["Seccomp"], "0")
		},
	},
	{
		Name: "no-new-privileges", About: "allowPrivilegeEscalation false is no_new_privs",
		Spec: `containers: [{name: a, args: [facts], securityContext: {allowPrivilegeEscalation: false}}, {name: b, args: [facts]}]
`,
		Judge: func(s *Observation, c *Check) {
			c.Equal("NoNewPrivs of a", s.facts(c, "a").Status["NoNewPrivs"], "1")
			c.Equal("NoNewPrivs of b", s.facts(c, "b").Status["NoNewPrivs"], "0")
		},
	},
	{
		Name: "user-namespace", About: "hostUsers false: root inside is another user outside, and volumes are its own",
		Spec: `hostUsers: false
volumes: [{name: v, emptyDir: {}}]
containers: [{name: c, args: ["write:/v/x=1", "facts:/v/x"], volumeMounts: [{name: v, mountPath: /v}]}]
`,
		Needs: func(h cri.Handler) string {
			if h.UserNamespaces {
				return ""
			}
			return "the runtime says that the handler has no user namespaces: they need runc 1.2 or crun 1.9"
		},
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			words := fields(f.UIDMap)
			c.That(len(words) == 3 && words[0] == "0" && words[1] != "0" && words[2] == "65536", "the map of users is %q", f.UIDMap)
			c.That(f.Namespaces["user"] != s.Host.Namespaces["user"], "the user namespace is the host's")
			c.Equal("the owner of a file in a volume", f.Files["/v/x"].UID, 0)
		},
	},
	{
		Name: "masked-paths", About: "/proc and /sys are masked and read-only as by default",
		Spec: `containers: [{name: c, args: [facts]}]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			masked := slices.ContainsFunc(f.Mounts, func(m Mount) bool { return slices.Contains(maskedPaths, m.Point) })
			c.That(masked, "none of %v is masked", maskedPaths)
			c.That(f.at("/proc/sys").readOnly(), "/proc/sys is writable")
			c.That(f.at("/sys").readOnly(), "/sys is writable")
			c.That(!f.has("CapEff", capSysAdmin), "it has CAP_SYS_ADMIN")
		},
	},
	{
		Name: "sysctls", About: "safe sysctls are the pod's, not the host's",
		Spec: `securityContext: {sysctls: [{name: net.ipv4.ip_unprivileged_port_start, value: "79"}, {name: kernel.shm_rmid_forced, value: "1"}]}
containers: [{name: c, args: ["facts:/proc/sys/net/ipv4/ip_unprivileged_port_start,/proc/sys/kernel/shm_rmid_forced"]}]
`,
		Judge: func(s *Observation, c *Check) {
			files := s.facts(c, "c").Files
			c.Equal("ip_unprivileged_port_start", fields(files["/proc/sys/net/ipv4/ip_unprivileged_port_start"].Content), []string{"79"})
			c.Equal("shm_rmid_forced", fields(files["/proc/sys/kernel/shm_rmid_forced"].Content), []string{"1"})
		},
	},
}
