package owner

// UnseenError: podctl processes may live that cannot be seen from here.
type UnseenError struct{}

func (*UnseenError) Error() string {
	return "podctl runs in another PID namespace than the runtime, and does not see whether the podctl process that created it lives"
}

// Hint says where podctl would see it, and how the user takes the responsibility.
func (*UnseenError) Hint() string {
	return "run podctl on the host, or in a container with its PID namespace; or pass --owner-is-gone if no podctl process runs there"
}
