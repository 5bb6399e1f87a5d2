package why

import (
	"strings"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

const (
	// maxPhrase bounds what is read of one error, in bytes: half of it from its beginning, which
	// says what failed, and half from its end, which says why.
	maxPhrase = 16 << 10
	// maxHead is how much of what is left of a word is looked at.
	maxHead = 400
)

// phrase is one error as rows see it.
type phrase struct {
	text string // in lower case, without the escapes of quotes, on one line
	at   Step   // in which the pod is, "" if that is not known
}

func newPhrase(text string, at Step) *phrase {
	if len(text) > maxPhrase {
		text = text[:maxPhrase/2] + " … " + text[len(text)-maxPhrase/2:]
	}
	return &phrase{text: plain(text), at: at}
}

// plain returns a text in lower case, with single spaces, and quotes that were escaped however often
// as they were.
func plain(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	space := true
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' {
			end := i
			for end < len(text) && text[end] == '\\' {
				end++
			}
			if end < len(text) && strings.IndexByte("nrt", text[end]) >= 0 {
				c = ' '
			} else if end < len(text) {
				c = text[end]
			}
			i = end
		}
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			if !space {
				b.WriteByte(' ')
			}
			space = true
			continue
		}
		space = false
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return strings.TrimSuffix(b.String(), " ")
}

// has reports whether the phrase contains one of the patterns, in which * stands for any text.
func (p *phrase) has(patterns ...string) bool {
	for _, pattern := range patterns {
		if matches(p.text, pattern) {
			return true
		}
	}
	return false
}

func matches(text, pattern string) bool {
	for {
		part, rest, more := strings.Cut(pattern, "*")
		i := strings.Index(text, part)
		switch {
		case i < 0:
			return false
		case !more:
			return true
		}
		text, pattern = text[i+len(part):], rest
	}
}

// before returns what is left of the last occurrence of a word, at most maxHead bytes of it.
func (p *phrase) before(word string) string {
	i := max(strings.LastIndex(p.text, word), 0)
	return p.text[max(i-maxHead, 0):i]
}

// scope is a condition on a phrase beside its words.
type scope struct {
	name  string // for the docs
	holds func(*phrase) bool
}

// The scopes. What failed is known by the step of the pod, or by the words of the operation.
var (
	inNetwork = scope{"the pod's network", func(p *phrase) bool {
		return p.has("network for sandbox", "network for pod", "set up pod*network", "teardown pod*network", "network sandbox", "to cni network", "from cni network", "plugin type=", "cni plugin", "cni config", "cni version", "network plugin", "networkplugin",
			"networkpluginnotready", "network is not ready", "network not ready", "networkunavailable", "networknotready", "/opt/cni", "cni/net.d", "no networks found in", "failed to find plugin",
			"no ip addresses available", "failed to allocate for range", "failed to assign an ip address", "cmdadd", "multus: [", "flannel/subnet.env", "hostport", "/var/lib/calico", "clusterinformation", "cilium agent", "cilium.sock", "bring up loopback")
	}}
	inVolume = scope{"a volume", func(p *phrase) bool {
		return p.has("mountvolume.", "mapvolume.", "attachvolume.", "unmountvolume.", "detachvolume", "waitforattach", "mountdevice", "unmounted volumes", "unattached volumes",
			"attach or mount volumes", "mount volumes:", "registered csi drivers", "csi driver", "/csi.sock", "hostpath type check", "multi-attach", "nodestagevolume", "nodepublishvolume",
			"persistentvolumeclaim", "volume paths are still present", "volume subpaths are still present", "setup volume", "set up volume")
	}}
	inPull = scope{"a pull", func(p *phrase) bool {
		return p.at == StepPull || p.has("pull image", "pullimage", "pulling image", "failed to pull", "pull and unpack", "image pull failed", "errimagepull", "imagepullbackoff", "resolve reference", "resolve image", "/v2/",
			"container registry", "reading manifest", "reading blob", "docker://", "sandbox image", "httpreadseeker", "pull access denied", "anonymous token", "oauth token", "copying blob")
	}}
	ofSandbox = scope{"the sandbox", func(p *phrase) bool { return p.at == StepSandbox || p.at == StepNetwork }}
	inStop    = scope{"a stop", func(p *phrase) bool {
		return p.at == StepStop || p.has("failed to kill container", "failed to stop container", "failed to stop sandbox", "killpodsandbox", "killcontainer", "container termination failed", "stopping container", "failed to kill pod", "error killing pod", "stopcontainer", "stoppodsandbox")
	}}
	// ofContainer is a step or an operation of which a container is the object.
	ofContainer = scope{"a container", func(p *phrase) bool {
		switch p.at {
		case StepCreate, StepStart, StepInit, StepRestart:
			return true
		}
		return p.at == "" && p.has("container")
	}}
	noDisk = scope{"a namespace, watch, key or cgroup of the kernel has no room", func(p *phrase) bool {
		return p.has("no space left on device", "disk quota exceeded") &&
			p.has("clone_new", "unshare", "namespace", "netns", "inotify", "fsnotify", "epoll", "keyring", "session key", "keyctl", "fork/exec", "clone:", "clone(", "semget", "shmget", "bpf", "mount src=*no space", "mount through*no space", "/proc/sys/")
	}}
	cgroupSpace = scope{"a cgroup has no room", func(p *phrase) bool {
		return p.has("no space left on device") && p.has("cgroup", "cpuset")
	}}
)

// httpStatus is a status that a registry answered with: a number of its own, not a part of a digest
// or a port.
var httpStatus = lazyregexp.New(`(?:^|[ :=("])(4\d\d|5\d\d)(?:[ ,;)".]|$)`)

// status returns the first HTTP status of an error in the phrase, "" if there is none.
func (p *phrase) status() string {
	if m := httpStatus().FindStringSubmatch(p.text); m != nil {
		return m[1]
	}
	return ""
}

var (
	refusedByRegistry = scope{"a pull with HTTP status 401, 403 or 407", func(p *phrase) bool {
		s := p.status()
		return inPull.holds(p) && (s == "401" || s == "403" || s == "407")
	}}
	brokenRegistry = scope{"a pull with HTTP status 429 or 5xx", func(p *phrase) bool {
		s := p.status()
		return inPull.holds(p) && (s == "429" || strings.HasPrefix(s, "5"))
	}}
	absentInRegistry = scope{"a pull with HTTP status 404", func(p *phrase) bool { return inPull.holds(p) && p.status() == "404" }}
)

// execWords are what is left of the name of a program that could not be executed.
var execWords = []string{`exec: "`, "fork/exec ", "executable file `", "exec container process `", "exec /", "exec user process"}

// executed returns what is left of the program that could not be executed, and its word; "" if the
// phrase is about none.
func (p *phrase) executed() (left, word string) {
	for _, w := range execWords {
		if strings.Contains(p.text, w) {
			return strings.TrimRight(p.before(w), ` "`), w
		}
	}
	return "", ""
}

// hostPrograms are programs that runtimes execute on the host, by the beginnings of their names.
var hostPrograms = []string{
	"runc", "crun", "youki", "runsc", "kata", "containerd-shim", "conmon", "nvidia-container", "apparmor_parser", "newuidmap", "newgidmap", "unpigz", "pigz", "fuse-overlayfs", "criu", "modprobe", "pinns", "crio", "qemu", "virtiofsd",
}

// isOfHost reports whether a program that could not be executed is one of the host: nothing in a
// sandbox is the application's, and in a container it is only what the runtime's init executes.
func (p *phrase) isOfHost() bool {
	left, word := p.executed()
	switch {
	case word == "":
		return false
	case ofSandbox.holds(p) || p.at == StepPull || p.at == StepVolume || word == "fork/exec ":
		return true
	case strings.HasSuffix(left, "container process:"), strings.HasSuffix(left, "container process caused:"), strings.HasSuffix(left, "container process caused"), strings.HasSuffix(left, "container init:"), strings.HasSuffix(left, "init caused:"), strings.HasSuffix(left, "exec failed:"):
		return false
	case word != `exec: "`:
		return p.has("shim", "hook")
	case left == "", strings.HasSuffix(left, "error:") && len(left) < 10:
		name := p.text[strings.LastIndex(p.text, word)+len(word):]
		for _, host := range hostPrograms {
			if strings.HasPrefix(name[strings.LastIndexByte(name[:max(strings.IndexByte(name, '"'), 0)], '/')+1:], host) {
				return true
			}
		}
		return false
	}
	return true
}

var (
	hostProgram = scope{"a program of the host could not be executed", (*phrase).isOfHost}
	podProgram  = scope{"the container's program could not be executed", func(p *phrase) bool {
		_, word := p.executed()
		return word != "" && !p.isOfHost() || !ofSandbox.holds(p) && p.has("exec format error", "executable file not found", "open executable:")
	}}
)

// mounting is what runc and crun say of a mount that failed: its source, and where in the container.
var mounting = lazyregexp.New("mount(?:ing)? [\"`]([^\"`]+)[\"`] to (?:rootfs )?(?:[\"`][^\"`]*[\"`] )?(?:at )?[\"`]([^\"`]*)[\"`]")

// mount returns the source and the target of a mount that failed; ok is false if the phrase is not about one.
func (p *phrase) mount() (source, target string, ok bool) {
	if !strings.Contains(p.text, "mount") {
		return "", "", false
	}
	m := mounting().FindStringSubmatch(p.text)
	if m == nil {
		return "", "", false
	}
	return m[1], "/" + strings.TrimPrefix(m[2], "/"), true
}

func isBelow(path string, dirs ...string) bool {
	for _, dir := range dirs {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}

var (
	kernelMount = scope{"a mount of /proc, /sys or /dev", func(p *phrase) bool {
		source, target, ok := p.mount()
		return ok && (!strings.HasPrefix(source, "/") || isBelow(source, "/proc", "/sys")) && (!strings.HasPrefix(source, "/") || isBelow(target, "/proc", "/sys", "/dev"))
	}}
	runtimeMount = scope{"a mount of a file that the runtime makes", func(p *phrase) bool {
		source, target, ok := p.mount()
		return ok && (strings.Contains(source, "/sandboxes/") || isBelow(source, "/run/containers", "/var/run/containers", "/run/containerd", "/var/lib/containers") ||
			isBelow(target, "/etc/resolv.conf", "/etc/hostname", "/etc/hosts", "/run/.containerenv", "/dev/termination-log", "/dev/shm"))
	}}
	volumeMount = scope{"a mount of a volume", func(p *phrase) bool { _, _, ok := p.mount(); return ok }}
)
