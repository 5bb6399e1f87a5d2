package sim

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// imageFiles are the files of every image, and its empty directories.
const imageFiles = "/bin/sh /bin/ls /bin/cat /bin/echo /bin/sleep /etc/passwd /etc/group /etc/hostname /etc/hosts /etc/resolv.conf /dev/ /home/ /proc/ /root/ /run/ /sys/ /tmp/ /usr/ /var/"

// givenFile returns a file that the image, the pod or the kernel has.
func (p *process) givenFile(name string) (string, bool) {
	pod := p.pod.GetLinux()
	if key, ok := strings.CutPrefix(name, "/proc/sys/"); ok {
		value, ok := pod.GetSysctls()[strings.ReplaceAll(key, "/", ".")]
		return value + "\n", ok
	}
	switch name {
	case "/etc/hostname":
		return p.hostname + "\n", true
	case "/etc/resolv.conf":
		return resolvConf(p.pod.GetDnsConfig()), true
	case "/etc/passwd":
		return "root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33:www-data:/var/www:/bin/false\nnobody:x:65534:65534:nobody:/home:/bin/false\n", true
	case "/proc/1/cmdline":
		if !p.ownPIDs {
			return "/pause\x00", true
		}
		return strings.Join(p.argv, "\x00") + "\x00", true
	case "/proc/self/status":
		return fmt.Sprintf("Name:\tcat\nUid:\t%d\nGid:\t%d\nCapBnd:\t%016x\nSeccomp:\t%d\n", p.user.GetUid(), p.user.GetGid(), p.capabilities(), p.seccompMode()), true
	case "/proc/self/uid_map":
		ns := pod.GetSecurityContext().GetNamespaceOptions().GetUsernsOptions()
		if ids := ns.GetUids(); ns.GetMode() == runtimeapi.NamespaceMode_POD && len(ids) > 0 {
			return fmt.Sprintf("%10d %10d %10d\n", ids[0].ContainerId, ids[0].HostId, ids[0].Length), true
		}
		return "         0          0 4294967295\n", true
	}
	return "", slices.Contains(strings.Fields(imageFiles), name)
}

func resolvConf(c *runtimeapi.DNSConfig) string {
	var b strings.Builder
	for _, s := range c.GetServers() {
		fmt.Fprintf(&b, "nameserver %s\n", s)
	}
	if len(c.GetSearches()) > 0 {
		fmt.Fprintf(&b, "search %s\n", strings.Join(c.Searches, " "))
	}
	if len(c.GetOptions()) > 0 {
		fmt.Fprintf(&b, "options %s\n", strings.Join(c.Options, " "))
	}
	return b.String()
}

// users are those of /etc/passwd, by name.
var users = map[string]int64{"root": 0, "www-data": 33, "nobody": 65534}

// nameOf is a user's name, or its number.
func nameOf(uid int64) string {
	for name, id := range users {
		if id == uid {
			return name
		}
	}
	return strconv.FormatInt(uid, 10)
}

// capabilityNames are those of the kernel, in the order of their bits.
var capabilityNames = strings.Fields("CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE")

// defaultCapabilities are those of a container that asks for none.
const defaultCapabilities = 0xa80425fb

// capabilities are the bounding set of the container's processes.
func (p *process) capabilities() uint64 {
	all, set := uint64(1)<<len(capabilityNames)-1, uint64(defaultCapabilities)
	if p.fs.security.GetPrivileged() {
		return all
	}
	bits := func(name string) uint64 {
		if i := slices.Index(capabilityNames, strings.TrimPrefix(strings.ToUpper(name), "CAP_")); i >= 0 {
			return 1 << i
		}
		return 0
	}
	c := p.fs.security.GetCapabilities()
	if slices.Contains(c.GetDropCapabilities(), "ALL") {
		set = 0
	}
	if slices.Contains(c.GetAddCapabilities(), "ALL") {
		set = all
	}
	for _, name := range c.GetAddCapabilities() {
		set |= bits(name)
	}
	for _, name := range c.GetDropCapabilities() {
		set &^= bits(name)
	}
	return set
}

// seccompMode is 2 with a filter, 0 without.
func (p *process) seccompMode() int {
	profile := p.fs.security.GetSeccomp()
	if profile == nil || profile.ProfileType == runtimeapi.SecurityProfile_Unconfined || p.fs.security.GetPrivileged() {
		return 0
	}
	return 2
}

// filters reports whether a seccomp profile of the host refuses a system call.
func (p *process) filters(syscall string) bool {
	profile := p.fs.security.GetSeccomp()
	if p.seccompMode() == 0 || profile.ProfileType != runtimeapi.SecurityProfile_Localhost {
		return false
	}
	var rules struct {
		Syscalls []struct {
			Names  []string
			Action string
		}
	}
	text, err := readHost(profile.LocalhostRef)
	if err != nil || json.Unmarshal([]byte(text), &rules) != nil {
		return false
	}
	for _, r := range rules.Syscalls {
		if r.Action == "SCMP_ACT_ERRNO" && slices.Contains(r.Names, syscall) {
			return true
		}
	}
	return false
}

// privileges are the capability and the system call that commands need, and what they
// say without.
var privileges = map[string]struct{ capability, syscall, output, message string }{
	"hostname": {"SYS_ADMIN", "sethostname", "", "hostname: sethostname: Operation not permitted\n"},
	"mount":    {"SYS_ADMIN", "mount", "", "mount: permission denied (are you root?)\n"},
	"brctl":    {"NET_ADMIN", "ioctl", "", "brctl: bridge: Operation not permitted\n"},
	"ping":     {"NET_RAW", "socket", "PING 127.0.0.1 (127.0.0.1): 56 data bytes\n", "ping: permission denied (are you root?)\n"},
	"chmod":    {"FOWNER", "chmod", "", "chmod: Operation not permitted\n"},
}

// refused reports that the container may not run a command, which it has said then.
func (s *shell) refused(name string, args []string) bool {
	if masked := s.p.fs.security.GetMaskedPaths(); slices.Contains(masked, path.Join("/bin", name)) {
		s.err(fmt.Sprintf("/bin/sh: %s: Permission denied\n", name))
		s.status = 126
		return true
	}
	need, ok := privileges[name]
	if !ok || len(args) == 0 {
		return false
	}
	has := s.p.capabilities()&(1<<slices.Index(capabilityNames, need.capability)) != 0
	if has && !s.p.filters(need.syscall) {
		return false
	}
	s.out(need.output)
	s.err(need.message)
	s.status = 1
	return true
}
