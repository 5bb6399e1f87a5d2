package cgroup

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/opencontainers/cgroups"

	"github.com/podctl/podctl/internal/pod"
)

func TestPSI(t *testing.T) {
	cgroups.TestMode = true // the library reads files that are on no cgroup file system
	t.Cleanup(func() { cgroups.TestMode = false })
	v2, err := Scan("testdata/v2")
	if err != nil {
		t.Fatal(err)
	}
	want := pod.PSI{CPU: &pod.Stall{Some: 7.35, Full: 1.5}, Memory: &pod.Stall{}, IO: &pod.Stall{Some: 31.2, Full: 29.9}}
	if got := v2.PSI("/g"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if swap := v2.Stat("/g").Swap; swap == nil || *swap != 3<<20 {
		t.Errorf("swap %v, want 3 MiB", swap)
	}
	for name, of := range map[string]*Tree{
		"v1":                        tree(t, map[string]string{"memory/g/memory.stat": ""}),
		"v2 of a kernel without it": tree(t, map[string]string{"cgroup.controllers": "", "g/cgroup.procs": ""}),
	} {
		if got := of.PSI("/g"); got.Unknown == "" || got != (pod.PSI{Unknown: got.Unknown}) {
			t.Errorf("%s: %+v, want only why it is not known", name, got)
		}
	}
}

// The kernel's own files, where a v2 hierarchy is mounted.
func TestPSIOfKernel(t *testing.T) {
	for _, root := range []string{Mounts, filepath.Join(Mounts, "unified")} {
		if _, err := os.Stat(filepath.Join(root, "cpu.pressure")); err != nil {
			continue
		}
		of := &Tree{root: root, unified: true}
		if got := of.PSI("/"); got.Unknown != "" || got.CPU == nil || got.CPU.Some < got.CPU.Full {
			t.Errorf("%s: %+v", root, got)
		}
		return
	}
	t.Skip("no cgroup v2 with PSI is mounted")
}
