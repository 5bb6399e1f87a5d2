package denied

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var at = time.Unix(1732000000, 0)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{`audit: type=1400 audit(1732000000.123:456): apparmor="DENIED" operation="connect" class="file" profile="cri-containerd.apparmor.d" name="/run/a.sock" pid=41 comm="nc" requested_mask="wr" denied_mask="wr" fsuid=0 ouid=0`,
			`AppArmor 41 "nc" connect /run/a.sock`},
		{`audit: type=1400 audit(1732000000.123:456): apparmor="DENIED" operation="connect" profile="p" pid=41 comm="nc" family="unix" sock_type="stream" protocol=0 requested_mask="send receive connect" denied_mask="send" addr=none peer_addr="@abc" peer="unconfined"`,
			`AppArmor 41 "nc" connect a unix socket @abc`},
		{`audit: type=1400 audit(1732000000.123:456): apparmor="DENIED" operation="signal" class="signal" profile="cri-containerd.apparmor.d" pid=99 comm="runc" requested_mask="receive" denied_mask="receive" signal=kill peer="runc"`,
			`AppArmor 99 "runc" receive signal kill runc`},
		{`type=AVC msg=audit(1732000000.123:456): apparmor="DENIED" operation="open" profile="p" name=2F746D702F61202262 pid=41 comm="a" requested_mask="r" denied_mask="r" fsuid=0 ouid=0`,
			`AppArmor 41 "a" open (r) /tmp/a "b`},
		{`audit: type=1400 audit(1732000000.123:456): apparmor="DENIED" operation="capable" profile="p" pid=41 comm="a" capability=21 capname="sys_admin"`, `AppArmor 41 "a" use capability sys_admin`},
		{`audit: type=1400 audit(1732000000.1:4): avc:  denied  { read } for  pid=41 comm="cat" name="shadow" dev="sda1" ino=1 scontext=system_u:system_r:container_t:s0:c1,c2 tcontext=system_u:object_r:shadow_t:s0 tclass=file permissive=0`,
			`SELinux 41 "cat" read file shadow`},
		{`audit: type=1326 audit(1732000000.1:4): auid=4294967295 uid=0 gid=0 ses=4294967295 subj=unconfined pid=41 comm="a" exe="/a" sig=31 arch=c000003e syscall=165 compat=0 ip=0x1 code=0x80000000`, `Seccomp 41 "a" system call mount`},
		{`type=SECCOMP msg=audit(1732000000.1:4): auid=1 pid=41 comm="a" sig=31 arch=c00000b7 syscall=40 compat=0 ip=0x1 code=0x0`, `Seccomp 41 "a" system call mount`},
		{`audit: type=1326 audit(1732000000.1:4): pid=41 comm="a" sig=31 arch=40000003 syscall=9999 code=0x0`, `Seccomp 41 "a" system call 9999 of architecture 40000003`},
		{`node=n1 type=AVC msg=audit(1732000000.123:456): apparmor="DENIED" operation="mkdir" profile="p" name="/a" pid=41 comm="a" denied_mask="c"` + "\x1d" + `FSUID="root"`, `AppArmor 41 "a" mkdir (c) /a`},
		// Not denied.
		{`type=AVC msg=audit(1732000000.1:4): avc:  denied  { read } for  pid=41 comm="cat" scontext=a:b:c:s0:c1,c2 tclass=file permissive=1` + "\x1d" + `AUID="unset"`, ""},
		{`audit: type=1326 audit(1732000000.1:4): pid=41 comm="a" sig=0 arch=c000003e syscall=165 code=0x7ffc0000`, ""},
		{`audit: type=1400 audit(1732000000.1:4): apparmor="ALLOWED" operation="open" profile="p" pid=41 comm="a"`, ""},
		{`audit: type=1400 audit(1732000000.1:4): avc:  denied  { read } for  pid=41 comm="cat" scontext=a:b:c:s0:c1,c2 tclass=file permissive=1`, ""},
		{`audit: type=1400 audit(1732000000.1:4): apparmor="STATUS" operation="profile_load" profile="unconfined" name="p" pid=41 comm="apparmor_parser"`, ""},
		// What another record of the kernel quotes, and what a program sends to auditd.
		{`process 'audit: type=1326 audit(1732000000.1:4): pid=41 comm="a" sig=31 arch=c000003e syscall=165' started with executable stack`, ""},
		{`type=USER_AVC msg=audit(1732000000.1:4): pid=1 uid=0 msg='avc:  denied  { read } for  pid=41 scontext=a:b:c:s0:c1,c2'`, ""},
		{`audit: type=1400 audit(`, ""}, {"", ""}, {`audit: type=1400 audit(1): apparmor="DENIED" operation="a" profile="`, ""},
	} {
		d, ok := Parse(c.text, at)
		got := strings.TrimSpace(fmt.Sprintf("%s %d %q %s %s", d.By, d.PID, d.Comm, d.Action, d.Object))
		if !ok {
			got = ""
		}
		if want := strings.Replace(c.want, "Seccomp", "seccomp", 1); got != want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, want)
		}
	}
}

// A process chooses the name of itself and of its files, which decide nothing.
func TestProcessCannotNameAnotherRecord(t *testing.T) {
	text := `audit: type=1400 audit(1732000000.1:4): apparmor="DENIED" operation="open" profile="p" name="/a" pid=41 comm="x pid=7" requested_mask="r" denied_mask="r" pid=7 profile="q"`
	if d, ok := Parse(text, at); !ok || d.PID != 41 || d.Profile != "p" {
		t.Errorf("%+v", d)
	}
}

func TestOf(t *testing.T) {
	own := Confinement{PIDs: map[int]time.Time{41: at.Add(-time.Minute)}, Profile: "cri-containerd.apparmor.d", Label: "system_u:system_r:container_t:s0:c1,c2", From: at.Add(-time.Minute)}
	denial := func(change func(*Denial)) Denial {
		d := Denial{By: AppArmor, Time: at, PID: 7, Profile: "other", Action: "connect", Object: "/s"}
		change(&d)
		return d
	}
	ended := Confinement{First: 40, PIDs: map[int]time.Time{42: at.Add(-time.Minute)}, Label: own.Label, Shared: true, From: at.Add(-time.Minute), To: at.Add(time.Second)}
	for name, c := range map[string]struct {
		denial Denial
		whose  string
		sure   bool
	}{
		"its process":                     {denial(func(d *Denial) { d.PID = 41 }), "pid", true},
		"a PID before its process had it": {denial(func(d *Denial) { d.PID, d.Time = 41, at.Add(-time.Hour) }), "", false},
		"its MCS pair":                    {denial(func(d *Denial) { d.By, d.Context = SELinux, "system_u:system_r:container_t:s0:c1,c2" }), "MCS pair", true},
		"another MCS pair":                {denial(func(d *Denial) { d.By, d.Context = SELinux, "system_u:system_r:container_t:s0:c1,c3" }), "", false},
		"no MCS pair":                     {denial(func(d *Denial) { d.By, d.Context = SELinux, "system_u:system_r:kernel_t:s0" }), "", false},
		"its profile":                     {denial(func(d *Denial) { d.Profile = "cri-containerd.apparmor.d" }), "profile and time", false},
		"its profile, before it ran":      {denial(func(d *Denial) { d.Profile, d.Time = "cri-containerd.apparmor.d", at.Add(-time.Hour) }), "", false},
		"its name alone":                  {denial(func(d *Denial) { d.Comm = "app" }), "", false},
		"its MCS pair, before it ran":     {denial(func(d *Denial) { d.By, d.Context, d.Time = Seccomp, own.Label, at.Add(-time.Hour) }), "", false},

		"ended: its first process":             {denial(func(d *Denial) { d.PID = 40 }), "pid", true},
		"ended: that PID after its end":        {denial(func(d *Denial) { d.PID, d.Time = 40, at.Add(2*time.Second) }), "", false},
		"ended: a process that is left":        {denial(func(d *Denial) { d.PID, d.Time = 42, at.Add(time.Hour) }), "pid", true},
		"ended: the MCS pair of its pod":       {denial(func(d *Denial) { d.By, d.Context = Seccomp, own.Label }), "MCS pair", false},
		"ended: that pair after its end":       {denial(func(d *Denial) { d.By, d.Context, d.Time = Seccomp, own.Label, at.Add(time.Hour) }), "", false},
		"ended: a profile that others have":    {denial(func(d *Denial) { d.Profile = own.Profile }), "", false},
		"ended: its name, path and time alone": {denial(func(d *Denial) { d.Comm, d.Object = "app", "/kubepods/pod1/c1" }), "", false},
	} {
		of := own
		if strings.HasPrefix(name, "ended: ") {
			of = ended
		}
		of.Profile = own.Profile
		got := Of([]Denial{c.denial}, of)
		if len(got) != min(len(c.whose), 1) || len(got) == 1 && (got[0].Whose != c.whose || got[0].Sure != c.sure) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A container can be denied as often as it likes, and name as many files.
func TestFloodOfDenialsIsBounded(t *testing.T) {
	var all []Denial
	for i := range 10_000 {
		all = append(all, Denial{By: AppArmor, Time: at, PID: 41, Profile: "p", Action: "open (r)", Object: fmt.Sprint("/", i)})
	}
	got := Of(all, Confinement{PIDs: map[int]time.Time{41: at}})
	total := 0
	for _, g := range got {
		total += g.Count
	}
	if len(got) != maxGroups+1 || total != len(all) {
		t.Errorf("%d groups, %d denials", len(got), total)
	}
	again := Of([]Denial{all[0], all[0]}, Confinement{PIDs: map[int]time.Time{41: at}})
	if text := again[0].Text(at.Add(3 * time.Second)); text != "open (r) /0, by AppArmor profile p, 2 times, last 3s ago" {
		t.Error(text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`audit: type=1400 audit(1.1:4): apparmor="DENIED" operation="open" profile="p" name=41 pid=41 comm="a"`)
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := Parse(text, at); ok && (d.Action == "" || len(d.Object) > maxValue) {
			t.Errorf("%+v", d)
		}
	})
}
