package view

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/sys/proc"
)

func TestDeniedByProcessAndProfile(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	boot := time.Unix(1732000000, 0)
	write("stat", fmt.Sprintf("btime %d\n", boot.Unix()))
	for pid, parent := range map[int]int{41: 1, 42: 41, 50: 1} {
		write(fmt.Sprintf("%d/stat", pid), fmt.Sprintf("%d (a) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 %s", pid, parent, strings.Repeat("0 ", 30)))
		write(fmt.Sprintf("%d/status", pid), "Name:\ta\n")
	}
	write("41/attr/current", "cri-containerd.apparmor.d (enforce)\n")
	at := boot.Add(time.Minute)
	record := func(pid int, profile, name string) KernelRecord {
		return KernelRecord{at, fmt.Sprintf(`audit: type=1400 audit(%d.0:1): apparmor="DENIED" operation="open" profile="%s" name="%s" pid=%d comm="a" denied_mask="r"`, at.Unix(), profile, name, pid)}
	}
	r := &Reader{Denials: true, Asker: owners.Asker{Procs: proc.FS(root)}, Now: func() time.Time { return at.Add(3 * time.Second) }, KernelLog: func() (KernelLog, error) {
		return KernelLog{Since: boot, Records: []KernelRecord{record(42, "p", "/child"), record(50, "p", "/other"), record(99, "cri-containerd.apparmor.d", "/gone"), {at, ""}}}, nil
	}}
	p := &Pod{Containers: []Container{{Name: "c", State: Running, PID: 41, StartedAt: boot.Add(time.Second)}, {Name: "d", State: Terminated}}}
	r.readDenied(&Sources{Pod: p})
	got := strings.Join(p.Containers[0].Denied, "; ")
	for _, want := range []string{"open (r) /child, by AppArmor profile p, last 3s ago", "open (r) /gone, by AppArmor profile cri-containerd.apparmor.d, last 3s ago (by its profile and the time"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if all := r.newProcessScan().denials(); len(all) != 3 || len(r.deniedTo(all, nil, 41, time.Time{})) != 1 || len(r.deniedTo(all, nil, 98, time.Time{})) != 0 {
		t.Errorf("of a container that ends: %+v", all)
	}
	if lately := r.DeniedLately(boot); len(lately) != 1 || lately[0].Object != "/gone" || len(r.DeniedLately(at.Add(time.Hour))) != 0 {
		t.Errorf("lately: %+v", lately)
	}
	if strings.Contains(got, "/other") || len(p.Containers[1].Denied) != 0 {
		t.Errorf("%q, %q", got, p.Containers[1].Denied)
	}
}
