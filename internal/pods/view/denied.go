package view

import (
	"os"
	"path/filepath"
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

// readDenied adds what the kernel's log says the containers that run were denied: by their processes
// and, likely, by their AppArmor profile.
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
	var all []denied.Denial
	for _, record := range p.KernelLog.Records {
		if d, ok := denied.Parse(record.Text, record.Time); ok {
			all = append(all, d)
		}
	}
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
		first, err := r.Procs.Read(c.PID)
		if err != nil {
			continue
		}
		of := denied.Confinement{PIDs: map[int]time.Time{}, From: c.StartedAt}
		of.Profile, of.Label = confinement(r.Procs, c.PID)
		for queue := []proc.Process{first}; len(queue) > 0 && len(of.PIDs) < maxDenied; queue = queue[1:] {
			if _, seen := of.PIDs[queue[0].PID]; seen {
				continue
			}
			if since, err := r.Procs.Started(queue[0]); err == nil {
				of.PIDs[queue[0].PID] = since
			}
			queue = append(queue, children[queue[0].PID]...)
		}
		for _, g := range denied.Of(all, of) {
			if len(c.Denied) < maxShownDenied {
				c.Denied = append(c.Denied, g.Text(r.Now()))
			}
		}
	}
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
