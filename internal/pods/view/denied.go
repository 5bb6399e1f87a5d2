package view

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pods/denied"
	"github.com/podctl/podctl/internal/sys/proc"
)

// maxShownDenied and maxDenied bound the kinds of denials that are shown of a container, and how many
// of its processes are looked for.
const (
	maxShownDenied = 5
	maxDenied      = 4096
)

// denials returns what the kernel's log says was denied, to any process.
func denials(log KernelLog) []denied.Denial {
	var all []denied.Denial
	for _, record := range log.Records {
		if d, ok := denied.Parse(record.Text, record.Time); ok {
			all = append(all, d)
		}
	}
	return all
}

// readDenied adds what the kernel's log says the containers that run were denied.
func (r *Reader) readDenied(p *Sources) {
	if !r.Denials || r.Recorded || r.KernelLog == nil {
		return
	}
	if p.KernelLog.Since.IsZero() {
		var err error
		if p.KernelLog, err = r.KernelLog(); err != nil {
			p.notRead("kernel log", err)
			return
		}
	}
	all := denials(p.KernelLog)
	if len(all) == 0 {
		return
	}
	children, err := r.Procs.ByParent()
	if err != nil {
		p.notRead("kernel log", err)
		return
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		if c.State != Running || c.PID == 0 {
			continue
		}
		for _, g := range r.deniedTo(all, children, c.PID, c.StartedAt) {
			if len(c.Denied) < maxShownDenied {
				c.Denied = append(c.Denied, g.Text(r.Now()))
			}
		}
	}
}

// deniedTo returns what a container was denied whose first process is pid, since from or, if that is zero,
// its start: by its processes and, likely, by their AppArmor profile.
func (r *Reader) deniedTo(all []denied.Denial, children map[int][]proc.Process, pid int, from time.Time) []denied.Group {
	first, err := r.Procs.Read(pid)
	if err != nil {
		return nil
	}
	if from.IsZero() {
		from, _ = r.Procs.Started(first)
	}
	of := denied.Confinement{PIDs: map[int]time.Time{}, From: from}
	of.Profile, of.Label = confinement(r.Procs, pid)
	for queue := []proc.Process{first}; len(queue) > 0 && len(of.PIDs) < maxDenied; queue = queue[1:] {
		if _, seen := of.PIDs[queue[0].PID]; seen {
			continue
		}
		if since, err := r.Procs.Started(queue[0]); err == nil {
			of.PIDs[queue[0].PID] = since
		}
		queue = append(queue, children[queue[0].PID]...)
	}
	return denied.Of(all, of)
}

// containerProfiles are the AppArmor profiles that runtimes give containers, and the type of SELinux.
var containerProfiles = []string{"cri-containerd.apparmor.d", "crio-default", "docker-default", "containers-default", ":container_t:"}

// DeniedLately returns what the kernel's log says that processes with a runtime's profile were denied since a
// time; nil if the log cannot be read. Whose they are is not looked for.
func (r *Reader) DeniedLately(since time.Time) []denied.Group {
	if r.KernelLog == nil || r.Recorded {
		return nil
	}
	log, err := r.KernelLog()
	if err != nil {
		return nil
	}
	return denied.Kinds(slices.DeleteFunc(denials(log), func(d denied.Denial) bool {
		return d.Time.Before(since) || !slices.ContainsFunc(containerProfiles, func(name string) bool { return strings.Contains(d.Profile+d.Context, name) })
	}))
}

// confinement returns the AppArmor profile or the SELinux label of a process, "" if it has none or
// that cannot be read.
func confinement(fs proc.FS, pid int) (profile, label string) {
	raw, err := os.ReadFile(filepath.Join(string(fs), strconv.Itoa(pid), "attr", "current"))
	if err != nil {
		return "", ""
	}
	text := strings.TrimRight(string(raw), "\n\x00")
	if strings.Count(text, ":") >= 3 {
		return "", text
	}
	profile, _, _ = strings.Cut(text, " (")
	if profile == "unconfined" {
		return "", ""
	}
	return profile, ""
}
