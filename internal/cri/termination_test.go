package cri

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// TestTerminationMessage: the file, else the log where the policy says so.
func TestTerminationMessage(t *testing.T) {
	dir := t.TempDir()
	file, log := filepath.Join(dir, "message"), filepath.Join(dir, "log")
	if err := os.WriteFile(log, []byte("2026-01-02T15:04:05Z stdout F first\n2026-01-02T15:04:05Z stderr F last\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text, policy, message string
		state                       pod.State
		code                        int32
		want                        string
	}{
		{name: "file", text: "no config", state: pod.Exited, want: "no config"},
		{name: "the runtime's own before it", text: "no config", message: "OOM", state: pod.Exited, want: "OOM: no config"},
		{name: "running", text: "no config", state: pod.Running},
		{name: "empty", state: pod.Exited, code: 1},
		{name: "fallback", policy: string(v1.TerminationMessageFallbackToLogsOnError), state: pod.Exited, code: 1, want: "first\nlast\n"},
		{name: "no fallback after success", policy: string(v1.TerminationMessageFallbackToLogsOnError), state: pod.Exited},
		{name: "file before the log", text: "no config", policy: string(v1.TerminationMessageFallbackToLogsOnError), state: pod.Exited, code: 1, want: "no config"},
		{name: "the end of a long one", text: string(make([]byte, 5000)) + "end", state: pod.Exited, want: string(make([]byte, 4093)) + "end"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := withTerminationMessage(&pod.ContainerStatus{
			State: c.state, ExitCode: c.code, Message: c.message, LogPath: log,
			Annotations: map[string]string{pod.TerminationMessagePathAnnotation: "/dev/termination-log", pod.TerminationMessagePolicyAnnotation: c.policy},
			Mounts:      []pod.Mount{{HostPath: "/nosuch", ContainerPath: "/x"}, {HostPath: file, ContainerPath: "/dev/termination-log"}},
		})
		if got.Message != c.want {
			t.Errorf("%s: %q, want %q", c.name, got.Message, c.want)
		}
	}
}

func TestTerminationMessageFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	secret, link := filepath.Join(dir, "shadow"), filepath.Join(dir, "message")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	got := withTerminationMessage(&pod.ContainerStatus{
		State: pod.Exited, Annotations: map[string]string{pod.TerminationMessagePathAnnotation: "/m"}, Mounts: []pod.Mount{{HostPath: link, ContainerPath: "/m"}},
	})
	if got.Message != "" {
		t.Errorf("%q", got.Message)
	}
}

// TestTerminationMessageOfALog is made of the last lines of the file, of which
// a long line takes several, and has no end where the process wrote none.
func TestTerminationMessageOfALog(t *testing.T) {
	const stamp, long = "2026-01-02T15:04:05Z stderr ", 3000
	many := strings.Repeat(stamp+"F x\n", 100)
	for _, c := range []struct{ name, log, want string }{
		{"no end", stamp + "F first\n" + stamp + "P last message\n", "first\nlast message"},
		{"a line in parts", stamp + "P half \n" + stamp + "F whole\n", "half whole\n"},
		{"80 lines", many, strings.Repeat("x\n", 80)},
		{"parts are lines", many + strings.Repeat(stamp+"P y\n", 79) + stamp + "F z\n", strings.Repeat("y", 79) + "z\n"},
		{"2048 bytes", stamp + "F " + strings.Repeat("a", long) + "\n", strings.Repeat("a", 2047) + "\n"},
		{"not a line", "rubbish\n" + stamp + "F x\n", "x\n"},
		{"nothing", "", ""},
	} {
		log := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(log, []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := messageFromLog(log); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
