package cri

import (
	"errors"
	"testing"

	"github.com/podctl/podctl/internal/lab/sim"
)

func TestInputOfAContainerIsReadFromBothRuntimes(t *testing.T) {
	for info, want := range map[string]ContainerInput{
		`{"pid":1,"config":{"tty":true,"stdin":true,"stdin_once":true}}`: {Known: true, TTY: true, Stdin: true, Once: true},
		`{"pid":1,"config":{"metadata":{"name":"c"}}}`:                   {Known: true},
		`{"runtimeSpec":{"annotations":{"io.kubernetes.cri-o.TTY":"true","io.kubernetes.cri-o.Stdin":"true","io.kubernetes.cri-o.StdinOnce":"false"}}}`: {Known: true, TTY: true, Stdin: true},
		`{"pid":1}`: {},
	} {
		v, err := readVerbose(map[string]string{"info": info}, "container c")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := v.input(); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", info, got, err, want)
		}
	}
	v := verboseInfo{Config: []byte(`{"tty":1}`)}
	if _, err := v.input(); err == nil {
		t.Error("no error")
	}
}

func TestOutputThatIsTooLargeIsAKindOfError(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		_, id := runPod(t, c, "p", "sleep", "600")
		r.Inject(`method=ExecSync nth=1 error=ResourceExhausted message="grpc: trying to send message larger than max (16777229 vs. 16777216)"`)
		if _, err := c.ExecSync(t.Context(), id, []string{"x"}, 0); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v", err)
		}
	})
}

func TestMissingCommandsOfBothRuntimes(t *testing.T) {
	for text, want := range map[string]string{
		`failed to start exec "1": OCI runtime exec failed: exec failed: unable to start container process: exec: "sh": executable file not found in $PATH: unknown`: "executable file not found in $PATH",
		`exec failed: unable to start container process: exec: "/bin/sh": stat /bin/sh: no such file or directory`:                                                   "no such file or directory",
		`open /run/containerd/x: no such file or directory`: "",
		`container is in CONTAINER_EXITED state`:            "",
	} {
		if got := MissingCommand(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
