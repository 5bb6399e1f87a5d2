package proc

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

func TestEnvironKeepsNamedVariablesOnly(t *testing.T) {
	root := FS(t.TempDir())
	fake(t, root, 10, map[string]string{"environ": "PASSWORD=x\x00CNI_ARGS=K8S_POD_NAME=web;A=b\x00CNI_ARGS=second\x00CNI_COMMAND_2=no\x00EMPTY=\x00CNI_PATH=" + strings.Repeat("x", maxVariable+1) + "\x00CNI_COMMAND=ADD"})
	got, err := root.Environ(10, "CNI_ARGS", "CNI_COMMAND", "CNI_PATH", "EMPTY", "ABSENT")
	want := map[string]string{"CNI_ARGS": "K8S_POD_NAME=web;A=b", "CNI_COMMAND": "ADD", "EMPTY": ""}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := root.Environ(11, "CNI_ARGS"); !errors.Is(err, ErrGone) {
		t.Errorf("absent process: %v", err)
	}
}
