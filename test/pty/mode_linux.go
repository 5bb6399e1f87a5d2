package pty

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Mode is what a command can change about its terminal.
type Mode struct {
	// Echo: what is typed is shown. Lines: it is delivered line by line.
	// Signals: control characters send signals. All are on in a new terminal.
	Echo, Lines, Signals bool
}

// Normal is the mode of a new terminal.
var Normal = Mode{Echo: true, Lines: true, Signals: true}

// String returns which modes are on.
func (m Mode) String() string {
	return fmt.Sprintf("echo %t, lines %t, signals %t", m.Echo, m.Lines, m.Signals)
}

// Mode returns the terminal's mode, also after the command has exited.
func (t *Terminal) Mode() Mode {
	t.t.Helper()
	raw, err := t.control.SyscallConn() // File.Fd would make Read block Close
	if err != nil {
		t.t.Fatal(err)
	}
	var set *unix.Termios
	var failed error
	// On Linux, the controlling side returns the settings of the other side.
	err = raw.Control(func(fd uintptr) { set, failed = unix.IoctlGetTermios(int(fd), unix.TCGETS) })
	if err != nil || failed != nil {
		t.t.Fatal(err, failed)
	}
	on := func(flag uint32) bool { return set.Lflag&flag != 0 }
	return Mode{Echo: on(unix.ECHO), Lines: on(unix.ICANON), Signals: on(unix.ISIG)}
}
