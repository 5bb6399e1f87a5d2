package cri

import (
	"context"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ExecSyncLimit is how much output of ExecSync containerd and CRI-O return. A
// command that writes more makes the call of containerd fail with ErrTooLarge;
// CRI-O truncates the output.
const ExecSyncLimit = 16 << 20

// Streams are the streams of an exec or attach. With TTY there is no Stderr:
// both are one.
type Streams struct{ Stdin, Stdout, Stderr, TTY bool }

// Exec prepares a command in a container and returns the URL at which its
// streams are served, once. The runtime chooses the URL: internal/cri/stream checks
// it.
func (c *Client) Exec(ctx context.Context, id string, cmd []string, s Streams) (url string, err error) {
	r, err := c.runtime.Exec(ctx, &runtimeapi.ExecRequest{
		ContainerId: id, Cmd: cmd, Tty: s.TTY, Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr && !s.TTY,
	})
	return r.GetUrl(), err
}

// Attach returns the URL at which the streams of a container's first process
// are served, once.
func (c *Client) Attach(ctx context.Context, id string, s Streams) (url string, err error) {
	r, err := c.runtime.Attach(ctx, &runtimeapi.AttachRequest{
		ContainerId: id, Tty: s.TTY, Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr && !s.TTY,
	})
	return r.GetUrl(), err
}

// PortForward returns the URL at which connections to ports of a sandbox are
// served, for one client.
func (c *Client) PortForward(ctx context.Context, sandboxID string, port uint16) (url string, err error) {
	r, err := c.runtime.PortForward(ctx, &runtimeapi.PortForwardRequest{PodSandboxId: sandboxID, Port: []int32{int32(port)}})
	return r.GetUrl(), err
}

// ContainerInput is what a container was created with for its first process.
type ContainerInput struct {
	// Known is false where the runtime does not report it.
	Known bool
	// TTY: it has a terminal. Stdin: its standard input is open. Once: it is
	// closed when the first client that attached to it is gone.
	TTY, Stdin, Once bool
}

// ContainerInput reads whether a container has a terminal and an input, from
// the verbose part of its status: containerd's has the container's
// configuration, CRI-O's the OCI configuration with annotations.
func (c *Client) ContainerInput(ctx context.Context, id string) (ContainerInput, error) {
	_, v, err := c.verboseContainer(ctx, id)
	if err != nil {
		return ContainerInput{}, err
	}
	return v.input()
}

func (v verboseInfo) input() (ContainerInput, error) {
	var config *struct {
		TTY       bool `json:"tty"`
		Stdin     bool `json:"stdin"`
		StdinOnce bool `json:"stdin_once"`
	}
	if err := v.readConfig(&config); err != nil {
		return ContainerInput{}, err
	}
	switch {
	case config != nil:
		return ContainerInput{Known: true, TTY: config.TTY, Stdin: config.Stdin, Once: config.StdinOnce}, nil
	case v.crio("TTY") != "":
		on := func(name string) bool { return v.crio(name) == "true" }
		return ContainerInput{Known: true, TTY: on("TTY"), Stdin: on("Stdin"), Once: on("StdinOnce")}, nil
	}
	return ContainerInput{}, nil
}

// MissingCommand returns why a container does not have a command, if that is what
// a runtime's text says: the OCI runtime's words, which containerd and CRI-O pass on.
// "" if it is not.
func MissingCommand(text string) string {
	const notInPath, notThere = "executable file not found in $PATH", "no such file or directory"
	switch {
	case strings.Contains(text, notInPath):
		return notInPath
	case strings.Contains(text, "unable to start container process") && strings.Contains(text, notThere):
		return notThere
	}
	return ""
}
