package pods

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/pods/view"
)

// OrphanData is one orphan of `podctl orphans -o json`.
type OrphanData struct {
	Metadata   orphanMetadata `json:"metadata"`            // the pod's
	Class      string         `json:"class"`               // name-reserved, no-sandbox, not-ready, abandoned, runtime-only, directory, leaked
	Kind       string         `json:"kind,omitempty"`      // of owner: podctl, kubelet, other; missing if it is not known
	Owner      string         `json:"owner,omitempty"`     // the podctl instance that created it; missing if none did, or it is not known
	OwnerEnded time.Time      `json:"ownerEnded,omitzero"` // about when that was killed, if known
	Containers int            `json:"containers"`          // containers in the runtime
	Running    int            `json:"running"`             // running containers
	Created    int            `json:"created,omitempty"`   // containers that were created and never started
	Unknown    int            `json:"unknown,omitempty"`   // containers of which the runtime does not know whether they run
	Sandbox    string         `json:"sandbox,omitempty"`   // id of the newest sandbox
	Directory  string         `json:"directory,omitempty"` // of the class directory
	Mounts     []string       `json:"mounts,omitempty"`    // mount points in that directory
	Evidence   string         `json:"evidence,omitempty"`  // why what has leaked is known to be this runtime's
	Assumed    bool           `json:"assumed,omitempty"`   // it is only likely to be this runtime's: --kill names the command that removes it, and removes nothing
	Leaked     []leakedThing  `json:"leaked,omitempty"`    // what has leaked, of the class leaked
	Why        string         `json:"why"`                 // why it is orphaned
	Result     string         `json:"result,omitempty"`    // of --kill: ended, removed, spared, gone, kept, failed, dry-run, interrupted
	Reason     string         `json:"reason,omitempty"`    // why it was spared, or kept, or failed
	Steps      []string       `json:"steps,omitempty"`     // the calls of --kill, in order
}

// orphanMetadata is the metadata of an orphan in JSON.
type orphanMetadata struct {
	Namespace         string    `json:"namespace,omitempty"`        // missing of a directory whose pod is not known
	Name              string    `json:"name,omitempty"`             // the same
	UID               string    `json:"uid"`                        // the pod's; of a leak whose pod is not known the id of its sandbox or container
	CreationTimestamp time.Time `json:"creationTimestamp,omitzero"` // of its first sandbox or container; of a directory its last change; of a leak that of its oldest part
}

// leakedThing is a part of a leak in JSON.
type leakedThing struct {
	Kind              string    `json:"kind"`                       // process, shim, mount, network, IPC, UTS or user namespace, address, cgroup
	ID                string    `json:"id,omitempty"`               // of the container or sandbox that it was made for, if known
	Name              string    `json:"name,omitempty"`             // of a process; the address and its network
	PID               int       `json:"pid,omitempty"`              // of a process or shim
	Path              string    `json:"path,omitempty"`             // of a mount, namespace or file of an address; the cgroup
	CreationTimestamp time.Time `json:"creationTimestamp,omitzero"` // if known
}

func newOrphanData(o orphan.Orphan) OrphanData {
	d := OrphanData{
		Class: string(o.Class), Owner: o.Creator, OwnerEnded: o.OwnerExited, Why: o.Why, Sandbox: o.SandboxID(), Running: o.RunningContainers(),
		Metadata: orphanMetadata{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), CreationTimestamp: o.Created()},
	}
	if o.Dir != nil {
		d.Directory, d.Mounts = o.Dir.Path, o.Dir.Mounts
	}
	if o.Leak != nil {
		d.Evidence, d.Assumed = o.Leak.Evidence, o.Leak.Assumed
		for _, t := range o.Leak.Things {
			d.Leaked = append(d.Leaked, leakedThing{string(t.Kind), t.ID, t.Name, t.PID, t.Path, t.Since})
		}
	}
	if o.Creator != "" || o.Runtime != nil {
		d.Kind = string(o.Kind())
	}
	if o.Runtime != nil {
		d.Containers = len(o.Runtime.Containers)
		for _, c := range o.Runtime.Containers {
			switch c.State {
			case pod.Created:
				d.Created++
			case pod.Unknown:
				d.Unknown++
			case pod.Running, pod.Exited:
			}
		}
	}
	return d
}

// containersText is "2 running", "1 of 2 running", "1 running, 1 unknown", "1 created, 2 exited".
func (d OrphanData) containersText() string {
	exited := d.Containers - d.Running - d.Created - d.Unknown
	switch {
	case d.Containers == 0:
		return "-"
	case d.Running > 0 && d.Running < d.Containers && d.Unknown == 0:
		return fmt.Sprintf("%d of %d running", d.Running, d.Containers)
	}
	var parts []string
	for _, n := range []struct {
		count int
		state string
	}{{d.Running, "running"}, {d.Unknown, "unknown"}, {d.Created, "created"}, {exited, "exited"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.state))
		}
	}
	return strings.Join(parts, ", ")
}

// ownerText is "run-5f2a, exited 3d ago".
func (d OrphanData) ownerText(now time.Time) string {
	switch {
	case d.Owner == "" && d.Kind == "":
		return "unknown"
	case d.Owner == "":
		return d.Kind
	case !d.OwnerEnded.IsZero():
		return fmt.Sprintf("%s, exited %s ago", d.Owner, output.Age(now.Sub(d.OwnerEnded)))
	}
	return d.Owner + ", exited"
}

func orphanListing(found []orphan.Orphan, now time.Time) output.List {
	l := output.List{
		Header: []string{"POD", "CLASS", "AGE", "CONTAINERS", "OWNER", "WHY"},
		Wide:   []string{"UID", "WHERE"},
	}
	for _, o := range found {
		d := newOrphanData(o)
		age, where := "-", "-"
		if !d.Metadata.CreationTimestamp.IsZero() {
			age = output.Age(now.Sub(d.Metadata.CreationTimestamp))
		}
		switch {
		case d.Sandbox != "":
			where = d.Sandbox
		case d.Directory != "":
			where = d.Directory
		case o.Leak != nil:
			where = o.Leak.ID
		}
		l.Items = append(l.Items, output.Item{
			Name: o.CLIName(), Data: d,
			Cells: []string{o.Title(), d.Class, age, d.containersText(), d.ownerText(now), d.Why},
			Wide:  []string{d.Metadata.UID, where},
		})
	}
	return l
}

// printOrphans prints the list; a table also with the sources and the next
// command to try.
func printOrphans(e *shell.Env, o orphansOptions, v *orphan.View, found orphan.Findings) error {
	if !o.printer.IsTable() {
		warnUnread(e, v, found)
		return o.printer.Print(e.Out, orphanListing(found.Orphans, e.Now()))
	}
	if len(found.Orphans) == 0 {
		fmt.Fprintln(e.Errw, "no orphans")
	}
	o.printer.Width = e.TableWidth(o.NoTrunc)
	if err := o.printer.Print(e.Out, orphanListing(found.Orphans, e.Now())); err != nil {
		return err
	}
	if names := podNames(found.Terminating); names != "" {
		fmt.Fprintf(e.Out, "terminated by the kubelet (pid %d): %s\n", v.Answers.Kubelet.PID, names)
	}
	fmt.Fprintln(e.Out, askedLine(v))
	if len(v.Leaks.Unread) > 0 && !v.Leaks.Examined {
		fmt.Fprintf(e.Out, "leaks are not looked for: %s\n", output.OneLine(strings.Join(v.Leaks.Unread, "; ")))
	}
	for _, line := range unreadLines(v, found) {
		fmt.Fprintln(e.Out, line)
	}
	if len(found.Orphans)+len(found.Undetermined) > 0 && !o.kill {
		fmt.Fprintf(e.Out, "hint: %s\n", v.KillHint(found))
	}
	return nil
}

func podNames(pods []*view.Pod) string {
	var names []string
	for _, p := range pods {
		names = append(names, p.DisplayName())
	}
	return strings.Join(names, ", ")
}

// printKilled prints the summary of --kill. Those without a result were not begun.
func printKilled(e *shell.Env, o orphansOptions, found []orphan.Orphan, done []OrphanData) error {
	if !o.printer.IsTable() {
		l := output.List{}
		for i, d := range done {
			if d.Result == "" {
				continue
			}
			l.Items = append(l.Items, output.Item{Name: found[i].CLIName(), Data: d})
		}
		return o.printer.Print(e.Out, l)
	}
	rest := 0
	for _, d := range done {
		if d.Result == "" || d.Result == string(orphan.Interrupted) {
			rest++
		}
	}
	if rest > 0 {
		fmt.Fprintf(e.Out, "interrupted: %s not terminated\n", output.Plural(rest, "orphan"))
	}
	if o.dryRun && len(found) > 0 {
		fmt.Fprintln(e.Out, "dry run: no call was made")
	}
	return nil
}

// askedLine names the sources that answered.
func askedLine(v *orphan.View) string {
	var answered, silent []string
	add := func(source string, pods int) {
		answered = append(answered, fmt.Sprintf("%s (%s)", source, output.Plural(pods, "pod")))
	}
	for _, p := range v.Answers.Processes {
		switch {
		case p.Elsewhere:
		case p.Err == nil:
			add(p.Name, p.Desired())
		default:
			silent = append(silent, p.Title())
		}
	}
	if errors.Is(v.Answers.Unseen, owners.ErrNotAsked) {
		return "asked: no owner, since the recording has no answers of owners"
	}
	k := &v.Answers.Kubelet
	for _, s := range v.Answers.Sources {
		if s.Err == nil {
			add(s.Source, len(s.Pods))
		}
	}
	if k.Source != "" && k.Err == nil {
		add(k.Source, len(k.Pods))
	}
	line := "asked: " + strings.Join(answered, ", ")
	switch {
	case len(answered) > 0:
	case len(silent) > 0:
		line = "asked: no source answered; alive: " + strings.Join(silent, ", ")
	default:
		line = "asked: no source, no podctl process is alive"
	}
	switch {
	case k.FindErr != nil:
		line += " · " + k.FindErr.Error()
	case k.PID == 0:
		line += " · no kubelet uses this runtime"
	default:
		line += fmt.Sprintf(" · a kubelet (pid %d) uses this runtime", k.PID)
	}
	return line
}

// unreadLines name the sources that did not answer, and the pods that cannot be
// judged without them.
func unreadLines(v *orphan.View, found orphan.Findings) []string {
	var lines []string
	unread := func(source string, err error) {
		if err != nil {
			lines = append(lines, fmt.Sprintf("not read: %s: %s", source, output.OneLine(err.Error())))
		}
	}
	for _, p := range v.Answers.Processes {
		if !p.Elsewhere && p.Err != nil {
			unread(p.Name, p.NoAnswerError())
		}
	}
	for _, s := range v.Answers.Sources {
		unread(s.Source, s.Err)
	}
	unread(v.Answers.Kubelet.Source, v.Answers.Kubelet.Err)
	if len(found.Undetermined) > 0 {
		lines = append(lines, fmt.Sprintf("not judged: %s: %s", podNames(found.Undetermined), output.OneLine(orphan.WhyUnknown(found.Undetermined).Error())))
	}
	if v.DirsUnknown != "" {
		lines = append(lines, "directories are not judged: "+v.DirsUnknown)
	}
	if v.Leaks.Examined {
		for _, why := range v.Leaks.Unread {
			lines = append(lines, "leaks may be missing: "+output.OneLine(why))
		}
	}
	return lines
}

// warnUnread prints them as warnings, where they are not part of the output.
func warnUnread(e *shell.Env, v *orphan.View, found orphan.Findings) {
	for _, line := range unreadLines(v, found) {
		fmt.Fprintf(e.Errw, "warning: %s\n", line)
	}
}
