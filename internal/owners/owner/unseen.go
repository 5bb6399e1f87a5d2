package owner

// UnseenError: podctl processes may live that cannot be seen from here.
type UnseenError struct {
	// Unreadable says that the runtime's process is in podctl's PID namespace, and podctl
	// must not read it: nor those of other podctl processes.
	Unreadable bool
}

func (e *UnseenError) Error() string {
	if e.Unreadable {
		return "podctl must not look into the runtime's process, and does not see whether the podctl process that created it lives"
	}
	return "podctl runs in another PID namespace than the runtime, and does not see whether the podctl process that created it lives"
}

// Hint says where podctl would see it, and how the user takes the responsibility.
func (e *UnseenError) Hint() string {
	if e.Unreadable {
		return "run podctl as root, in a container with the capability SYS_PTRACE; or pass --owner-is-gone if no podctl process runs there"
	}
	return "run podctl on the host, or in a container with its PID namespace; or pass --owner-is-gone if no podctl process runs there"
}
