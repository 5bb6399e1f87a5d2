package cri

import (
	"errors"
	"io"
	"os"
	"path"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// The kubelet's limits of a termination message
// (pkg/kubelet/container/runtime.go).
const (
	maxMessageFile     = 4096 // bytes
	maxMessageLogBytes = 2048
	maxMessageLogLines = 80
)

// withTerminationMessage adds to an exited container's message the one that
// its process left: the file named by its annotation, or, where its policy
// says so, it failed and the file is empty, the end of its log
// (pkg/kubelet/kuberuntime/kuberuntime_container.go).
func withTerminationMessage(c *pod.ContainerStatus) *pod.ContainerStatus {
	if c.State != pod.Exited {
		return c
	}
	text := messageFile(c)
	policy := v1.TerminationMessagePolicy(c.Annotations[pod.TerminationMessagePolicyAnnotation])
	if text == "" && policy == v1.TerminationMessageFallbackToLogsOnError &&
		c.ExitCode != 0 && c.Reason != "ContainerCannotRun" {
		text = messageFromLog(c.LogPath)
	}
	switch {
	case text == "":
	case c.Message == "":
		c.Message = text
	default:
		c.Message += ": " + text
	}
	return c
}

// messageFile reads the end of the file mounted at the termination message
// path, "" if there is none.
func messageFile(c *pod.ContainerStatus) string {
	at := c.Annotations[pod.TerminationMessagePathAnnotation]
	if at == "" {
		return ""
	}
	if !path.IsAbs(at) {
		at = "/" + at
	}
	for _, m := range c.Mounts {
		if m.ContainerPath != at {
			continue
		}
		text, err := readEnd(m.HostPath, maxMessageFile)
		if err != nil && !os.IsNotExist(err) {
			return "read termination message: " + err.Error()
		}
		return text
	}
	return ""
}

// readEnd reads at most the last n bytes of a file; of anything but a regular
// file, nothing: a container of somebody else may have its directory, and put a link to
// another file there.
func readEnd(name string, n int64) (string, error) {
	f, err := bounded.OpenNoFollow(name)
	if errors.Is(err, bounded.ErrNotRegular) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-n), n))
	return string(data), err
}

// messageFromLog is the end of a log's newest file. What the runtime could not
// write in one line, or what its process did not end, has no end here either
// (readLastStringFromContainerLogs).
func messageFromLog(name string) string {
	lines, err := logs.Collect(name, logs.Options{Tail: maxMessageLogLines, OneFile: true, Parts: true})
	if err != nil {
		return "read termination message: " + err.Error()
	}
	var all []byte
	for _, l := range lines {
		if all = append(all, l.Text...); l.Ends {
			all = append(all, '\n')
		}
	}
	return string(all[max(0, len(all)-maxMessageLogBytes):])
}
