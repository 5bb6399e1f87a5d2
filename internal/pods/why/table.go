package why

// row is a kind of error: what a phrase means that is in its scope and has one of its words.
type row struct {
	means string
	step  Step // "": that of the pod
	layer Layer
	sure  Confidence // "": observed
	hint  string
	in    scope    // zero: any phrase
	words []string // patterns in which * stands for any text; none: the scope decides
	weak  bool     // another error of the text says why
}

const (
	doctor        = "podctl doctor"
	describePod   = "podctl describe POD"
	containerLogs = "podctl logs POD/CONTAINER"
	pullImage     = "podctl pull IMAGE"
	writeImage    = "write the image as REGISTRY/NAME:TAG"
	topPod        = "podctl top containers POD"
	KernelDenied  = "journalctl -k -g 'apparmor=\"DENIED\"|type=1326|avc:  denied'"
)

// table is the table of errors. The first row that matches decides: the operation that failed before
// the words of its cause, what an error number is about before the number alone.
var table = []row{
	// What programs of the pod say of themselves, through probes and hooks.
	{means: "the readiness probe does not succeed", step: StepReadiness, layer: LayerProbe, hint: "podctl logs -f POD/CONTAINER", words: []string{"readiness probe failed", "readiness probe errored"}},
	{means: "the startup probe does not succeed", step: StepStartupProbe, layer: LayerProbe, hint: "podctl logs -f POD/CONTAINER", words: []string{"startup probe failed", "startup probe errored", "failed startup probe"}},
	{means: "the liveness probe does not succeed: the container is restarted", step: StepRestart, layer: LayerProbe, hint: containerLogs, words: []string{"liveness probe failed", "liveness probe errored", "failed liveness probe"}},
	{means: "a preStop hook failed: the container is stopped without it", step: StepStop, layer: LayerHook, hint: containerLogs, words: []string{"prestophook", "prestop hook"}},
	{means: "a lifecycle hook failed", step: StepHook, layer: LayerHook, hint: containerLogs, words: []string{"lifecycle hook", "poststarthook"}},

	// What the scheduler and the kubelet's admission refuse.
	{means: "the claim of a volume does not exist, is not bound, or its volume is on other nodes", step: StepVolume, layer: LayerVolume, hint: "kubectl get pvc", words: []string{
		"unbound immediate persistentvolumeclaims", `persistentvolumeclaim "*" not found`, `persistentvolumeclaim "*" is being deleted`, "volume node affinity conflict", "persistentvolumeclaim is not bound",
	}},
	{means: "another pod has the port of the host", step: StepHostPort, layer: LayerAdmission, hint: "podctl pods -o wide", words: []string{"have free ports for the requested", "predicate nodeports failed", "predicate podfitshostports failed"}},
	{means: "a device that the pod requests cannot be allocated: the device plugin has none left, none that is healthy, or has not registered", step: StepDevice, layer: LayerDevice, hint: doctor, words: []string{
		"devices unavailable", "allocate failed due to", "allocate unhealthy devices", "unhealthy device", "unregistered device", "update plugin resources failed", "no healthy devices", "deviceplugin", "device plugin",
	}},
	{means: "a dynamic resource cannot be prepared: its driver does not answer or has not registered", step: StepDevice, layer: LayerDevice, hint: "kubectl get resourceclaims", words: []string{
		"prepare dynamic resources", "prepareresources", "resourceclaim", "dra driver", "registered dra",
	}},
	{means: "the node is out of ephemeral storage", layer: LayerDisk, hint: "df -h", words: []string{"low on resource: ephemeral-storage", "low on resource: nodefs", "low on resource: imagefs", "local ephemeral storage limit", "diskpressure"}},
	{means: "a sysctl that the kubelet does not allow, or of no namespace of the pod", layer: LayerConfig, hint: "podctl validate FILE", words: []string{"sysctlforbidden", "forbidden sysctl", "not allowlisted", "sysctl \"*\" is not", "sysctl \"*\" not allowed", "sysctl * not in a separate", "sysctl*without host"}},
	{means: "no node, or not this one, takes the pod: resources, selectors, taints, topology", step: StepAdmission, layer: LayerAdmission, hint: describePod, words: []string{
		"nodes are available", "node didn't have enough", "outofcpu", "outofpods", "outofhugepages", "topology locality", "topologyaffinity", "smtalignment", "predicate * failed", "node affinity", "node selector",
		"a set of pods to preempt", "podosnotsupported", "node was low on resource", "node had condition", "unexpectedadmissionerror",
	}},

	// What the manifest refers to.
	{means: "a Secret for pulls does not exist: the image is pulled without it", step: StepObject, layer: LayerConfig, sure: Likely, hint: describePod, words: []string{"image pull secrets"}},
	{means: "a Secret, ConfigMap or service account that the pod refers to does not exist, has no such key, or may not be read", step: StepObject, layer: LayerConfig, hint: describePod, words: []string{
		"non-existent secret key", "non-existent config key", "couldn't find key", `secret "*" not found`, `secrets "*" not found`, `configmap "*" not found`, `configmaps "*" not found`, `secrets "*" is forbidden`,
		`configmaps "*" is forbidden`, `serviceaccount "*" not found`, `serviceaccounts "*" not found`, "looking up service account", "token found for service account", "references non-existent",
	}},

	// What CNI plugins say: all in it is the network's.
	{means: "no address is left in the pool of the pod's network", step: StepNetwork, layer: LayerNetwork, hint: doctor, words: []string{
		"no ip addresses available", "failed to allocate for range", "no more ips", "no available ip", "failed to assign an ip address", "no free address", "ip pool*exhausted", "unable to allocate ip", "no addresses available",
	}},
	{means: "the runtime has no network configuration: no CNI plugin has installed one", step: StepNetwork, layer: LayerNetwork, hint: doctor, words: []string{
		"cni config uninitialized", "cni plugin not initialized", "no networks found in", "networkpluginnotready", "network plugin is not ready", "network is not ready", "network not ready", "no cni configuration", "no valid networks found",
	}},
	{means: "a CNI plugin is not installed on the node", step: StepNetwork, layer: LayerNetwork, hint: doctor, words: []string{"failed to find plugin", "/opt/cni*no such file"}},
	{means: "a CNI plugin could not set up or tear down the pod's network", step: StepNetwork, layer: LayerNetwork, hint: doctor, in: inNetwork},

	// Limits of the kernel that look like a full disk.
	{means: "the kernel has no room for another namespace, watch, mount or key: a limit of the kernel, not a disk", layer: LayerKernel, hint: "sysctl user fs.inotify fs.mount-max kernel.keys", in: noDisk},
	{means: "the kernel has no cgroup left, or a cgroup's cpuset is empty: not a disk", layer: LayerCgroup, hint: "cat /proc/cgroups", in: cgroupSpace},
	{means: "a limit on open files of the kernel or of the runtime is reached", layer: LayerKernel, hint: "sysctl fs.file-nr fs.inotify", words: []string{"too many open files"}},
	{means: "the kernel starts no more processes: a limit on PIDs of the pod, the runtime or the host is reached", layer: LayerKernel, hint: topPod, words: []string{
		"exec*resource temporarily unavailable", "fork*resource temporarily unavailable", "clone*resource temporarily unavailable", "thread*resource temporarily unavailable", "new os thread", "pthread_create failed", "pids limit",
	}},

	// Stops.
	{means: "the kernel does not let the runtime signal the container's process: an AppArmor or SELinux policy denies it, and every stop meets the same", step: StepStop, layer: LayerKernel, hint: KernelDenied, words: []string{
		"unable to signal*permission denied", "unable to signal*operation not permitted", "signaling init*permission denied", "kill container*permission denied", "kill container*operation not permitted", "sending signal*permission denied",
	}},
	{means: "containerd does not remove a container that has exited: it still has a task for it, which only a restart of containerd ends", step: StepStop, layer: LayerRuntime, hint: "systemctl restart containerd", words: []string{"cannot delete running task"}},
	{means: "the runtime has sent SIGKILL, and the container's process has not ended", step: StepStop, layer: LayerProcess, sure: Likely, hint: "podctl terminating POD", in: inStop, words: []string{
		"waiting for container*to be killed", "to be killed: wait", "wait container", "container*still running", "did not exit", "not stopped*deadline",
	}},
	{means: "something of the host keeps a mount of the volume busy", step: StepStop, layer: LayerVolume, hint: "fuser -vm PATH", words: []string{"unmount*target is busy", "unmount*device or resource busy", "paths are still present on disk"}},

	// Disks, beneath whatever failed.
	{means: "a file system of the host is full", layer: LayerDisk, hint: "df -h; df -i", words: []string{"no space left on device", "disk quota exceeded", "not enough space on", "enospc"}},

	// Volumes.
	{means: "a file system of the host is read-only", layer: LayerDisk, hint: "findmnt -O ro", in: inVolume, words: []string{"mkdir /var/lib*read-only file system"}},
	{means: "the CSI driver of the volume is not registered or does not answer on this node", step: StepVolume, layer: LayerVolume, hint: "kubectl get csinodes", words: []string{"registered csi drivers", "csi driver*not found", "csi.sock", "get csi client"}},
	{means: "the volume is attached to another node", step: StepVolume, layer: LayerVolume, hint: "kubectl get volumeattachments", words: []string{"multi-attach"}},
	{means: "a volume of the pod cannot be attached, mounted or unmounted", step: StepVolume, layer: LayerVolume, hint: describePod, in: inVolume},
	{means: "a path of a volume is below a mount that does not propagate", step: StepVolume, layer: LayerVolume, hint: "findmnt -o TARGET,PROPAGATION", words: []string{"not a shared mount", "not a shared or slave mount"}},
	{means: "a network file system of a volume has gone", step: StepVolume, layer: LayerVolume, hint: "findmnt -t nfs,nfs4,cifs,fuse", words: []string{"stale file handle", "stale nfs", "transport endpoint is not connected", "mount.nfs", "mount.cifs"}},
	{means: "an image that is a volume cannot be pulled or mounted", step: StepPull, layer: LayerImage, hint: pullImage, words: []string{"image volume"}},
	{means: "a volume's file system does not take SELinux labels", step: StepVolume, layer: LayerVolume, hint: describePod, words: []string{"relabel", "lsetxattr"}},
	{means: "the kernel or a file system does not map the user IDs of the pod", layer: LayerKernel, hint: doctor, words: []string{"idmap", "id-mapped", "mapped mount", "mount_setattr"}},

	// The client of the runtime, and the runtime's own programs and state.
	{means: "the runtime's socket does not answer: the runtime has exited or is restarting", layer: LayerRuntime, hint: doctor, words: []string{
		"error reading from server", "transport: error while dialing", "containerd.sock: connect", "crio.sock: connect", "transport is closing", "container runtime is down", "pleg is not healthy", "cri-dockerd.sock",
	}},
	{means: "another sandbox or container has the name: the runtime still makes it, or a call that timed out left it", layer: LayerRuntime, hint: "crictl pods", words: []string{
		"is reserved for", "failed to reserve sandbox name", "failed to reserve container name", "name is reserved", "reserving pod name", "reserving ctr name", "name*is already in use", `container "*": already exists`,
	}},
	{means: "the runtime has no handler of the name that the pod's RuntimeClass wants", step: StepSandbox, layer: LayerRuntime, hint: doctor, words: []string{"no runtime for", "runtime handler", "runtimehandler", "runtimeclass"}},
	{means: "AppArmor's tools are missing on the node", layer: LayerRuntime, hint: doctor, words: []string{"apparmor_parser"}},
	{means: "an NRI plugin of the runtime failed or did not answer in time", layer: LayerRuntime, hint: doctor, words: []string{"nri runpodsandbox", "nri createcontainer", "nri startcontainer", "nri plugin", "nri request", "apply nri"}},
	{means: "an NVIDIA library or driver of the host does not work", step: StepDevice, layer: LayerDevice, hint: "nvidia-smi", words: []string{"nvidia-container-cli:", "nvml", "libnvidia", "nvidia driver", "failed to initialize nvidia"}},
	{means: "a program that the runtime executes is missing on the node, or cannot be executed", layer: LayerRuntime, hint: doctor, in: hostProgram},
	{means: "an OCI hook of the runtime failed", layer: LayerRuntime, hint: doctor, words: []string{"error running*hook #", "error executing hook", "running hook", "hook failed", "/hooks.d/", "error running prestart hook", "error running createruntime hook"}},
	{means: "a program of the runtime does not fit its libraries", layer: LayerRuntime, hint: doctor, words: []string{"symbol lookup error", "error while loading shared libraries", "glibc_"}},
	{means: "the runtime lost a part of the image or of its own store: remove the image and pull it again", layer: LayerRuntime, hint: "podctl rmi IMAGE", words: []string{
		"content store", "content digest*not found", "missing parent", "parent snapshot", "snapshot*does not exist", "target snapshot", "layer not known", "image not known", "locating item named", "creating read-write layer",
		"blob not found", "blob sha256*not found", "failed to stat snapshot", "snapshotter*not found", "snapshotter*not loaded", "failed to get image from containerd", "locating image*not known", "unpacking image", "error locating layer", "snapshots: no such file",
	}},
	{means: "another pull of the runtime has the layer, or one that was interrupted left its lock", step: StepPull, layer: LayerRuntime, hint: doctor, words: []string{"ref*locked for", "locked: unavailable"}},
	{means: "the image has a file that leads out of it, or none where the runtime reads one", layer: LayerImage, hint: pullImage, words: []string{"path escapes from parent"}},
	{means: "the root file system of the container cannot be mounted", layer: LayerRuntime, hint: doctor, words: []string{"mount rootfs component", "tmpmounts", "failed to mount /tmp/", "mounting overlay", "overlay*no such device", "failed to mount overlay"}},
	{means: "a file system of the host is read-only, or its disk fails", layer: LayerDisk, hint: "dmesg --level err", in: inPull, words: []string{"read-only file system", "input/output error", "structure needs cleaning"}},

	// Images and registries.
	{means: "the kubelet limits its pulls: it tries again", step: StepPull, layer: LayerImage, hint: "wait, or raise registryPullQPS of the kubelet", words: []string{"pull qps exceeded"}},
	{means: "the image is not on the node, and imagePullPolicy Never forbids a pull", step: StepPull, layer: LayerImage, hint: pullImage, words: []string{"pull policy of never", "errimageneverpull"}},
	{means: "the name of the image is not valid, or names no registry", step: StepPull, layer: LayerImage, hint: writeImage, words: []string{
		"invalid reference format", "invalidimagename", "parse image", "default image tag", "repository name must", "short-name", "unqualified-search", "couldn't parse image", "invalid tag format",
	}},
	{means: "the image is not made for this machine's architecture", step: StepPull, layer: LayerImage, hint: "podctl images IMAGE", words: []string{"no match for platform", "no image found in", "no matching manifest", "image operating system", "does not match the specified platform"}},
	{means: "the policy of the node refuses the image's signature", step: StepPull, layer: LayerImage, hint: pullImage, in: inPull, words: []string{"signature", "source image rejected"}},
	{means: "the image's format is not one that this runtime reads", step: StepPull, layer: LayerImage, hint: "build the image again, as OCI", in: inPull, words: []string{"media type", "mediatype", "unsupported manifest", "schema 1", "schema1", "no longer supported"}},
	{means: "a layer of the image cannot be unpacked", step: StepPull, layer: LayerImage, hint: pullImage, words: []string{"extract layer", "invalid tar header", "wrong diff id", "apply layer", "archive/tar", "gzip: invalid"}},
	{means: "the registry's name is not resolved", step: StepPull, layer: LayerRegistry, hint: "getent hosts REGISTRY", in: inPull, words: []string{"no such host", "server misbehaving", "name resolution", "lookup * i/o timeout", "name or service not known"}},
	{means: "the registry's certificate is not trusted, or it does not speak TLS", step: StepPull, layer: LayerRegistry, hint: pullImage, in: inPull, words: []string{"x509", "tls:", "http response to https", "certificate", "handshake failure"}},
	{means: "the proxy for the registry does not work", step: StepPull, layer: LayerRegistry, hint: pullImage, in: inPull, words: []string{"proxyconnect", "proxy authentication", "socks connect"}},
	{means: "the registry refuses: credentials are missing or wrong, or the image does not exist", step: StepPull, layer: LayerRegistry, hint: pullImage, in: inPull, words: []string{
		"unauthorized", "authorization", "authentication", "access denied", "access to the resource is denied", "denied:", "forbidden", "basic auth credentials", "oauth token", "anonymous token", "credential provider", "invalid_token", "may require 'docker login'",
	}},
	{means: "the registry limits the number of pulls", step: StepPull, layer: LayerRegistry, hint: "wait, or pull with credentials", words: []string{"toomanyrequests", "too many requests", "pull rate limit"}},
	{means: "the registry refuses: credentials are missing or wrong, or the image does not exist", step: StepPull, layer: LayerRegistry, hint: pullImage, in: refusedByRegistry},
	{means: "the registry, or a proxy before it, fails", step: StepPull, layer: LayerRegistry, hint: pullImage, in: brokenRegistry},
	{means: "the registry is not reached, or breaks off", step: StepPull, layer: LayerRegistry, hint: pullImage, in: inPull, words: []string{
		"registryunavailable", "connection refused", "connection reset", "timeout", "deadline exceeded", "no route to host", "network is unreachable", "dial tcp", "eof", "short read", "stream error", "context canceled", "broken pipe",
		"pull progress", "no progress", "http2:", "use of closed network connection", "timed out", "request canceled",
	}},
	{means: "what the registry, or a proxy before it, sends is not the image", step: StepPull, layer: LayerRegistry, hint: pullImage, in: inPull, words: []string{"failed size validation", "unexpected commit digest", "digest mismatch", "digest did not match", "manifest digest", "does not match digest"}},
	{means: "the registry has no such image or tag", step: StepPull, layer: LayerImage, hint: pullImage, in: inPull, words: []string{"not found", "manifest unknown", "name unknown", "name_unknown", "manifest_unknown", "does not exist", "no such image"}},
	{means: "the registry has no such image or tag", step: StepPull, layer: LayerImage, hint: pullImage, in: absentInRegistry},
	{means: "the image is not on the node", layer: LayerImage, hint: pullImage, words: []string{`image "*" not found`, "no such image", "manifest unknown", "failed to inspect image"}},

	// Cgroups.
	{means: "the container's cgroup cannot be made or set, by systemd or the kernel", layer: LayerCgroup, hint: doctor, words: []string{
		"cgroup", "start unit", "message bus", ".scope", ".slice", "set memory limit", "hugetlb", "cpuset", "cpu.cfs", "cpu.max", "memory.limit_in_bytes", "interactive authentication required", "systemd1", "bpf_prog", "pod container",
	}},

	// What the container is made of.
	{means: "the kernel's memory killer ended the container's first process: its memory limit is too low", step: StepStart, layer: LayerKernel, hint: topPod, words: []string{"oom-killed", "oomkilled", "memory limit too low", "memory limit may be too low", "out of memory"}},
	{means: "the kernel has no memory for it", layer: LayerKernel, hint: "free -m", words: []string{"cannot allocate memory"}},
	{means: "a CDI device is not known to the runtime", step: StepDevice, layer: LayerDevice, hint: "ls /etc/cdi /var/run/cdi", words: []string{"cdi device", "cdi inject", "unresolvable cdi", "cdi spec", "cdi registry", "inject cdi"}},
	{means: "a device of the host that the container wants does not exist", step: StepDevice, layer: LayerDevice, hint: "ls -l /dev", words: []string{"custom device", "error adding device", "gathering device information", "device driver", "/dev/*no such device", "/dev/*not a device node"}},
	{means: "a virtual machine for the sandbox cannot be started", layer: LayerRuntime, hint: doctor, words: []string{"cannot create sandbox", "qemu", "hypervisor", "kvm", "firecracker", "virtiofsd", "vsock", "kata", "gvisor", "runsc"}},
	{means: "the kernel refuses a mount that the runtime makes, not one of a volume", layer: LayerKernel, hint: doctor, in: kernelMount},
	{means: "a volume or file of the pod is below /proc, where nothing may be mounted", layer: LayerConfig, hint: describePod, words: []string{"it is inside /proc", "is not on a procfs"}},
	{means: "a file that the runtime makes for the container cannot be mounted", layer: LayerRuntime, hint: doctor, in: runtimeMount},
	{means: "a volume cannot be mounted in the container: its path is missing, or a file where a directory is wanted", layer: LayerVolume, hint: describePod, in: volumeMount},
	{means: "a path of a volume cannot be made or found", layer: LayerVolume, hint: describePod, words: []string{"subpath", "error mounting", `failed to stat "`, `failed to mkdir "`, "resolve symlink", "create mountpoint", "mount failed", "hostpath type"}},
	{means: "the working directory does not exist or may not be entered", layer: LayerConfig, hint: describePod, words: []string{"chdir", "cwd", "working directory", "workdir"}},
	{means: "a sysctl has no such value or name", layer: LayerConfig, hint: describePod, words: []string{"open /proc/sys/", "write /proc/sys/", "write to `/proc/sys/", "write sysctl", "sysctl"}},
	{means: "a resource limit cannot be set for the container's process", layer: LayerKernel, hint: doctor, words: []string{"rlimit", "oom_score_adj"}},
	{means: "the kernel does not take the seccomp filter", layer: LayerKernel, hint: doctor, words: []string{"errno 524", "loading seccomp filter", "seccomp not supported", "seccomp is not supported"}},
	{means: "the security context or profile of the container cannot be applied", layer: LayerConfig, hint: describePod, words: []string{
		"apparmor", "seccomp", "selinux", "/attr/", "keycreate", "runasnonroot", "non-root", "runasuser", "capabilit", `"cap_`, "apply caps", "no_new_privs", "supplementalgroups", "setgid:", "setuid:", "user namespaces", "userns", "setgroups",
	}},
	{means: "the user or group is not one of the image", layer: LayerImage, hint: describePod, words: []string{"no users found", "entries in passwd", "entries in group", "unable to find user", "unable to find group", "linux spec user", "user*not found in passwd"}},
	{means: "neither the pod nor its image has a command", layer: LayerConfig, hint: describePod, words: []string{"no command specified", "args must not be empty", "process args", "no entrypoint"}},
	{means: "a variable, name or field of the pod is not valid", layer: LayerConfig, hint: "podctl validate FILE", words: []string{"invalid variable name", "invalid environment variable", "sethostname"}},

	// Programs of the pod.
	{means: "the kernel cannot execute the program: it is made for another architecture, or has no #! line", step: StepStart, layer: LayerApplication, hint: "podctl images IMAGE", in: podProgram, words: []string{"exec format error"}},
	{means: "the program is not in the image's $PATH", step: StepStart, layer: LayerApplication, hint: describePod, in: podProgram, words: []string{"executable file not found in $path", "executable file `*` not found"}},
	{means: "the program is not executable: its mode, or a mount with noexec", step: StepStart, layer: LayerApplication, hint: describePod, in: podProgram, words: []string{"permission denied", "is a directory"}},
	{means: "the program does not exist", step: StepStart, layer: LayerApplication, hint: describePod, in: podProgram, words: []string{"stat /*no such file", "executable file `"}},
	{means: "the kernel cannot execute the program: it, its interpreter (a CR at the end of its #! line) or its loader does not exist", step: StepStart, layer: LayerApplication, hint: describePod, in: podProgram, words: []string{"no such file or directory"}},
	{means: "the container's program cannot be executed", step: StepStart, layer: LayerApplication, hint: describePod, in: podProgram},
	{means: unresolvedName, layer: LayerApplication, hint: listServices, words: []string{
		"no such host", "could not resolve host", "name or service not known", "temporary failure in name resolution", "bad address '", "enotfound", "eai_again", "unknown host", "unknownhostexception", "could not translate host name",
		"host not found in upstream", "unable to resolve host", "lookup * server misbehaving", "name does not resolve",
	}},
	{means: "the container ends, or cannot be started, again and again: what it was is said before", weak: true, step: StepRestart, layer: LayerApplication, sure: Likely, hint: containerLogs, words: []string{"back-off*restarting failed container", "crashloopbackoff"}},
	{means: "the kubelet waits before it pulls the image again: the event before says why", weak: true, step: StepPull, layer: LayerNone, sure: Unknown, hint: pullImage, words: []string{"back-off pulling image"}},

	// Nothing of these: the runtime itself.
	{means: "the runtime, its shim or runc failed", layer: LayerRuntime, hint: doctor, words: []string{
		"ttrpc: closed", "shim exited", "start shim", "shim*disconnected", "shim disconnected", "cannot start a container that has stopped", "already running container", "retrieve oci runtime error", "did not terminate", "child's pid from pipe",
		"init preliminary setup", "read init-p", "procready not received", "no running task found", "sandbox container*not running", "sandbox*is not ready", "sandbox*not found", "/ns/*no such file", "netns*no such file", "exec fifo",
		"failed to find sandbox", "task*not found", "failed to start sandbox container", "bolt", "metadata.db", "unsupported spec version", "oci version", "log.json", "conmon", "container not created", "failed to create pod sandbox: rpc error: code = unavailable",
	}},
	{means: "a file system of the host is read-only, or its disk fails", layer: LayerDisk, hint: "dmesg --level err", words: []string{"/var/lib/*read-only file system", "/run/*read-only file system", "input/output error", "structure needs cleaning"}},
	{means: "a call of the runtime did not end in time", layer: LayerRuntime, sure: Likely, hint: "podctl pleg check", words: []string{"context deadline exceeded", "code = deadlineexceeded"}},
}
