package denied

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// By is the mechanism that denied something.
type By string

// The mechanisms that deny.
const (
	AppArmor By = "AppArmor"
	SELinux  By = "SELinux"
	Seccomp  By = "seccomp"
)

// Denial is a record of the kernel.
type Denial struct {
	By      By
	Time    time.Time // zero if the record has none
	PID     int       // of the process, in the PID namespace of the host
	Comm    string    // name of the process, which it chooses
	Profile string    // AppArmor profile
	Context string    // SELinux context of the process
	Action  string    // what was denied, in words
	Object  string    // path, socket or peer, which the process may choose
}

// maxValue bounds a value of a record, in bytes.
const maxValue = 256

// Parse parses a record: the text of one of the kernel's log, or a line of audit.log. at is its time if
// the record has none.
//
//	audit: type=1400 audit(1732.5:9): apparmor="DENIED" operation="connect" profile="p" name="/run/s" pid=7 comm="nc" …
//	type=AVC msg=audit(1732.5:9): avc:  denied  { read } for  pid=7 comm="cat" name="a" scontext=u:r:t:s0:c1,c2 …
//	audit: type=1326 audit(1732.5:9): … pid=7 comm="a" exe="/a" sig=31 arch=c000003e syscall=165 …
func Parse(text string, at time.Time) (Denial, bool) {
	kind, rest := "", ""
	text, _, _ = strings.Cut(text, "\x1d") // after which auditd repeats fields in words
	if node, after, found := strings.Cut(text, " type="); found && strings.HasPrefix(node, "node=") {
		text = "type=" + after
	}
	for _, head := range [][2]string{{"audit: type=1400 audit(", "1400"}, {"audit: type=1326 audit(", "1326"}, {"type=AVC msg=audit(", "1400"}, {"type=SECCOMP msg=audit(", "1326"}} {
		if after, found := strings.CutPrefix(text, head[0]); found {
			kind, rest = head[1], after
		}
	}
	stamp, body, ok := strings.Cut(rest, "): ")
	if !ok || len(stamp) > 64 {
		return Denial{}, false
	}
	d := Denial{Time: at}
	if seconds, _, found := strings.Cut(stamp, ":"); found {
		if s, err := strconv.ParseFloat(seconds, 64); err == nil && s > 0 && s < 1<<34 {
			d.Time = time.UnixMilli(int64(s * 1000))
		}
	}
	f := fields(body)
	d.PID, _ = strconv.Atoi(f["pid"])
	d.Comm, d.Object = f["comm"], f["name"]
	switch {
	case kind == "1326":
		d.By, d.Action, d.Object, d.Context = Seccomp, syscallName(f["arch"], f["syscall"]), "", f["subj"]
		if f["sig"] == "0" {
			return Denial{}, false // logged, not denied
		}
	case f["apparmor"] == "DENIED":
		d.By, d.Profile, d.Action = AppArmor, f["profile"], actionOf(f)
		for _, key := range []string{"peer_addr", "addr", "peer", "srcname"} {
			if d.Object == "" && f[key] != "none" {
				d.Object = f[key]
			}
		}
	case strings.HasPrefix(body, "avc:  denied  { "):
		asked, _, ok := strings.Cut(strings.TrimPrefix(body, "avc:  denied  { "), " }")
		if !ok || len(asked) > maxValue || f["permissive"] == "1" {
			return Denial{}, false
		}
		d.By, d.Context, d.Action = SELinux, f["scontext"], strings.TrimSpace(asked+" "+f["tclass"])
		if d.Object == "" {
			d.Object = f["path"]
		}
	default:
		return Denial{}, false
	}
	return d, d.Action != "" && (d.PID > 0 || d.Context != "")
}

// fields returns the fields of a record: the first of each key counts. The kernel quotes what a process
// chooses, and writes it in hexadecimal digits where it has a quote, space or control character.
func fields(body string) map[string]string {
	found := map[string]string{}
	for len(body) > 0 {
		var word string
		if q := strings.IndexAny(body, "\" "); q >= 0 && body[q] == '"' {
			end := strings.IndexByte(body[q+1:], '"')
			if end < 0 {
				return found
			}
			word, body = body[:q+end+2], body[q+end+2:]
		} else {
			word, body, _ = strings.Cut(body, " ")
		}
		key, value, ok := strings.Cut(word, "=")
		if _, known := found[key]; !ok || known || len(key) > maxValue {
			continue
		}
		if strings.HasPrefix(value, `"`) {
			value = strings.Trim(value, `"`)
		} else if key == "comm" || key == "name" || key == "profile" || key == "path" || key == "exe" {
			if raw, err := hex.DecodeString(value); err == nil {
				value = string(raw)
			}
		}
		found[key] = value[:min(len(value), maxValue)]
	}
	return found
}

// actionOf says in words what AppArmor denied.
func actionOf(f map[string]string) string {
	operation := strings.ReplaceAll(f["operation"], "_", " ")
	switch f["operation"] {
	case "signal":
		if f["denied_mask"] == "receive" {
			return fmt.Sprintf("receive signal %s", f["signal"])
		}
		return fmt.Sprintf("send signal %s", f["signal"])
	case "capable":
		return "use capability " + f["capname"]
	case "connect", "create", "bind", "listen", "accept", "sendmsg", "recvmsg":
		if f["family"] != "" {
			return operation + " a " + f["family"] + " socket"
		}
	case "open", "mknod", "file_mmap", "file_perm", "truncate", "unlink", "rename_src", "link", "chmod", "chown", "mkdir", "rmdir":
		if f["denied_mask"] != "" {
			return operation + " (" + f["denied_mask"] + ")"
		}
	}
	return operation
}

//go:embed syscalls.txt
var syscallTable string

var syscalls = sync.OnceValue(func() map[[2]string]string {
	names := map[[2]string]string{}
	for line := range strings.Lines(syscallTable) {
		if f := strings.Fields(line); len(f) == 3 {
			names[[2]string{f[0], f[1]}] = f[2]
		}
	}
	return names
})

// syscallName is the name of a system call by the audit architecture and number of a record.
func syscallName(arch, number string) string {
	if number == "" {
		return ""
	}
	if name := syscalls()[[2]string{arch, number}]; name != "" {
		return "system call " + name
	}
	return "system call " + number + " of architecture " + arch
}
