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

// maxShownDenied and maxDenied bound the kinds of denials that are shown of a container, and of how many
// processes it is looked whether they still run.
const (
	maxShownDenied = 5
	maxDenied      = 4096
)

// denials returns what the logs say was denied, to any process.
func denials(log KernelLog) []denied.Denial {
	var all []denied.Denial
	for _, record := range log.Records {
		if d, ok := denied.Parse(record.Text, record.Time); ok {
			all = append(all, d)
		}
	}
	return all
}

// addDenied adds what the logs say that the containers were denied: those that run, and the runs of each
// that have ended.
func (r *Reader) addDenied(p *Sources) {
	all := denials(p.KernelLog)
	for i := range p.Containers {
		c := &p.Containers[i]
		var runs []denied.Confinement
		if c.State == Running && c.PID != 0 {
			runs = append(runs, r.running(all, c.ID, c.PID, c.StartedAt))
		}
		for _, end := range c.Ends() {
			if d := p.Details[end.ID]; !end.StartedAt.IsZero() && !end.FinishedAt.IsZero() {
				runs = append(runs, denied.Confinement{
					PIDs: r.stillIn(all, p.Tree.Container(end.ID)), First: d.PID, Label: d.SELinuxLabel, From: end.StartedAt, To: end.FinishedAt,
				})
			}
		}
		for _, run := range runs {
			run.Shared = len(p.Containers) > 1
			for _, g := range denied.Of(all, run) {
				if len(c.Denied) < maxShownDenied {
					c.Denied = append(c.Denied, g.Text(r.Now()))
				}
			}
		}
	}
}

// running returns what is known of a container whose first process is pid, since from or, if that is zero,
// its start.
func (r *Reader) running(all []denied.Denial, id string, pid int, from time.Time) denied.Confinement {
	first, err := r.Procs.Read(pid)
	if err != nil {
		return denied.Confinement{}
	}
	started, _ := r.Procs.Started(first)
	if from.IsZero() {
		from = started
	}
	group := ""
	groups, _ := r.Procs.Cgroups(pid)
	for _, g := range groups {
		if before, after, found := strings.Cut(g.Path, id); found && id != "" {
			name, _, _ := strings.Cut(after, "/")
			group = before + id + name
		}
	}
	of := denied.Confinement{PIDs: r.stillIn(all, group), From: from}
	of.PIDs[pid] = started
	of.Profile, of.Label = confinement(r.Procs, pid)
	return of
}

// stillIn returns the processes of records that run in a cgroup or below it, with the time since when each has
// its PID. A container can give cgroups of its own the names of others', and those are below its own.
func (r *Reader) stillIn(all []denied.Denial, group string) map[int]time.Time {
	found, looked := map[int]time.Time{}, map[int]bool{}
	for _, d := range slices.Backward(all) {
		if looked[d.PID] || group == "" || len(looked) == maxDenied {
			continue
		}
		looked[d.PID] = true
		groups, err := r.Procs.Cgroups(d.PID)
		if err != nil || !slices.ContainsFunc(groups, func(g proc.Cgroup) bool { return g.Path == group || strings.HasPrefix(g.Path, group+"/") }) {
			continue
		}
		if p, err := r.Procs.Read(d.PID); err == nil {
			found[d.PID], _ = r.Procs.Started(p)
		}
	}
	return found
}

// containerProfiles are the AppArmor profiles that runtimes give containers, and the type of SELinux.
var containerProfiles = []string{"cri-containerd.apparmor.d", "crio-default", "docker-default", "containers-default", ":container_t:"}

// DeniedLately returns what the logs say that processes with a runtime's profile were denied since a
// time; none if the logs cannot be read. Whose they are is not looked for.
func (r *Reader) DeniedLately(since time.Time) []denied.Group {
	if r.KernelLog == nil || r.Recorded {
		return nil
	}
	log, _ := r.KernelLog() // what it does not say decides nothing
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
