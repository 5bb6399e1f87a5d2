package view

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/denied"
	"github.com/podctl/podctl/internal/sys/bounded"
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
	id, before := strings.Repeat("c", 64), strings.Repeat("d", 64)
	for pid, group := range map[int]string{41: id, 42: id + "/" + before, 50: "other/" + id, 60: before} {
		write(fmt.Sprintf("%d/cgroup", pid), "0::/kubepods/"+group+"\n")
		write(fmt.Sprintf("%d/stat", pid), fmt.Sprintf("%d (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 %s", pid, strings.Repeat("0 ", 30)))
		write(fmt.Sprintf("%d/status", pid), "Name:\ta\n")
	}
	write("41/attr/current", "cri-containerd.apparmor.d (enforce)\n")
	at := boot.Add(time.Minute)
	record := func(pid int, profile, name string) KernelRecord {
		return KernelRecord{at, fmt.Sprintf(`audit: type=1400 audit(%d.0:1): apparmor="DENIED" operation="open" profile="%s" name="%s" pid=%d comm="a" denied_mask="r"`, at.Unix(), profile, name, pid)}
	}
	r := &Reader{Denials: true, Asker: owners.Asker{Procs: proc.FS(root)}, Now: func() time.Time { return at.Add(3 * time.Second) }, KernelLog: func() (KernelLog, error) {
		return KernelLog{Since: boot, Records: []KernelRecord{record(42, "p", "/child"), record(50, "p", "/other"), record(99, "cri-containerd.apparmor.d", "/gone"), record(60, "p", "/left"), record(97, "p", "/first"), {at, ""}}}, nil
	}}
	write("cgroup/cgroup.controllers", "")
	write("cgroup/kubepods/"+id+"/"+before+"/cgroup.procs", "42\n")
	write("cgroup/kubepods/"+before+"/cgroup.procs", "60\n")
	tree, err := cgroup.Scan(filepath.Join(root, "cgroup"))
	if err != nil {
		t.Fatal(err)
	}
	ended := &End{ID: before, StartedAt: boot.Add(time.Second), FinishedAt: at.Add(time.Second)}
	p := &Pod{Containers: []Container{{Name: "c", ID: id, State: Running, PID: 41, StartedAt: boot.Add(time.Second)}, {Name: "d", State: Terminated, End: ended}}}
	r.readKernelLog(&Sources{Pod: p, Tree: tree, Details: map[string]cri.Details{before: {PID: 97}}})
	got := strings.Join(p.Containers[0].Denied, "; ")
	for _, want := range []string{"open (r) /child, by AppArmor profile p, last 3s ago", "open (r) /gone, by AppArmor profile cri-containerd.apparmor.d, last 3s ago (by its profile and the time"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if all := r.newProcessScan().denials(); len(all) != 5 || len(denied.Of(all, r.running(all, id, 41, time.Time{}))) != 2 || len(denied.Of(all, r.running(all, id, 98, time.Time{}))) != 0 {
		t.Errorf("of a container that ends: %+v", all)
	}
	if lately := r.DeniedLately(boot); len(lately) != 1 || lately[0].Object != "/gone" || len(r.DeniedLately(at.Add(time.Hour))) != 0 {
		t.Errorf("lately: %+v", lately)
	}
	if strings.Contains(got, "/other") || len(p.Containers[0].Denied) != 2 {
		t.Errorf("%q", got)
	}
	if want := []string{"open (r) /first, by AppArmor profile p, last 3s ago", "open (r) /left, by AppArmor profile p, last 3s ago"}; !slices.Equal(p.Containers[1].Denied, want) {
		t.Errorf("of a container that has exited: %q", p.Containers[1].Denied)
	}
}

// The end of a log of any length is read, its first line not where that may be a part of one.
func TestAuditLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	line := func(second int, name string) string {
		return fmt.Sprintf("type=AVC msg=audit(%d.5:1): apparmor=\"DENIED\" operation=\"open\" profile=\"p\" name=\"%s\" pid=41 comm=\"a\"\n", second, name)
	}
	text := line(100, "/early") + strings.Repeat("type=SYSCALL msg=audit(100.5:1): arch=c000003e\n", maxAuditLog/40) + line(101, "/before") + line(102, "/a") + "type=USER_LOGIN msg=audit(103.5:1): pid=1\n" + line(104, "/b")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	records, err := readAuditLog(path, time.UnixMilli(101_500))
	if all := denials(KernelLog{Records: records}); err != nil || len(all) != 2 || all[0].Object != "/a" || all[1].Object != "/b" {
		t.Errorf("%+v, %v", all, err)
	}
	if records, err = readAuditLog(path, time.Time{}); err != nil || len(records) != 3 {
		t.Errorf("%d records, %v", len(records), err)
	}
	if records, err = readAuditLog(path+".1", time.Time{}); err != nil || records != nil {
		t.Errorf("without a log: %v, %v", records, err)
	}
	if _, err = readAuditLog(filepath.Dir(path), time.Time{}); !errors.Is(err, bounded.ErrNotRegular) {
		t.Errorf("a directory: %v", err)
	}
}
