// Package pty runs a command on a pseudo-terminal, for tests of what podctl does
// on a terminal.
//
//	Start(t, cmd) ─► Terminal ── Send, Resize, Signal ─► command
//	                    │ ◄────── Until, Output, Screen ─────┘
//	                    └─ Mode: what a command must restore
//
// Until waits for output and fails the test after a minute; nothing else waits
// except Wait. A command that still runs when the test ends is killed.
package pty
