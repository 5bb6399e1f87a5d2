package denied

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Confinement is what is known of a container's run, by which records are its own.
type Confinement struct {
	// PIDs are its processes, with the time since when each has its PID; First is its first process where
	// the runtime reports that after its end, 0 if it does not.
	PIDs  map[int]time.Time
	First int
	// Profile is its AppArmor profile, and Label its SELinux label, "" if they are not known. Shared: other
	// containers of the pod have the same MCS pair.
	Profile, Label string
	Shared         bool
	// From and To are when the run began and ended, zero if it runs.
	From, To time.Time
}

// Group is a kind of denial, which may have occurred several times.
type Group struct {
	Denial        // the last one
	Count  int    // how often
	Sure   bool   // false: another container with the same profile, or of the pod, may have done it
	Whose  string // what shows whose it is: pid, MCS pair, profile and time
}

// maxGroups bounds how many kinds of denials of a container are kept.
const maxGroups = 20

// Kinds groups all denials, whatever process they are about. It takes the oldest first, and returns the newest first.
func Kinds(all []Denial) []Group {
	return group(all, func(*Denial) (string, bool) { return "profile", true })
}

// Of groups the denials of a container. It takes the oldest first, and returns the newest first.
func Of(all []Denial, c Confinement) []Group { return group(all, c.owns) }

// group groups the denials that owns accepts: whose is what shows that a denial counts, "" if it does not.
func group(all []Denial, owns func(*Denial) (whose string, sure bool)) []Group {
	type kind struct {
		by             By
		action, object string
		sure           bool
	}
	found := map[kind]*Group{}
	for _, d := range all {
		whose, sure := owns(&d)
		if whose == "" {
			continue
		}
		k := kind{d.By, d.Action, d.Object, sure}
		if found[k] == nil && len(found) >= maxGroups { // a flood of objects is one kind
			k.object = ""
		}
		if found[k] == nil {
			found[k] = &Group{Sure: sure, Whose: whose}
		}
		g := found[k]
		g.Denial, g.Count = d, g.Count+1
	}
	groups := make([]Group, 0, len(found))
	for k, g := range found {
		g.Object = k.object
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Action, b.Action), cmp.Compare(a.Object, b.Object))
	})
	return groups
}

// clockSlack is how much the clock of the log may differ from that of the runtime.
const clockSlack = 2 * time.Second

// owns returns what shows that a record is of the container, "" if nothing does, and whether that is sure. The
// profile is that of other containers, too, and shows nothing of a run that has ended.
func (c *Confinement) owns(d *Denial) (whose string, sure bool) {
	if since, has := c.PIDs[d.PID]; has && d.PID > 0 && !since.IsZero() && !d.Time.Before(since.Add(-clockSlack)) {
		return "pid", true
	}
	if c.From.IsZero() || d.Time.Before(c.From.Add(-clockSlack)) || !c.To.IsZero() && d.Time.After(c.To) {
		return "", false
	}
	pair := mcsPair(d.Context)
	switch {
	case c.First > 0 && d.PID == c.First && !c.To.IsZero():
		return "pid", true
	case pair != "" && pair == mcsPair(c.Label):
		return "MCS pair", !c.Shared
	case d.By == AppArmor && c.To.IsZero() && c.Profile != "" && strings.TrimPrefix(d.Profile, "localhost/") == strings.TrimPrefix(c.Profile, "localhost/"):
		return "profile and time", false
	}
	return "", false
}

// mcsPair returns the categories of an SELinux context that containers have by themselves: c1,c2 of
// system_u:system_r:container_t:s0:c1,c2; "" if it has no pair.
func mcsPair(context string) string {
	parts := strings.SplitN(context, ":", 5)
	if len(parts) < 5 || strings.Count(parts[4], ",") != 1 || strings.ContainsAny(parts[4], ".-") {
		return ""
	}
	return parts[4]
}

// Text is "connect a unix socket @x, by AppArmor profile p, 14 times, last 3s ago".
func (g *Group) Text(now time.Time) string {
	text := strings.TrimSpace(g.Action + " " + g.Object)
	switch g.By {
	case AppArmor:
		text += ", by AppArmor profile " + g.Profile
	case SELinux, Seccomp:
		text += ", by " + string(g.By)
	}
	if g.Count > 1 {
		text += fmt.Sprintf(", %d times", g.Count)
	}
	if !g.Time.IsZero() {
		text += fmt.Sprintf(", last %s ago", max(now.Sub(g.Time), 0).Round(time.Second))
	}
	switch {
	case g.Sure:
	case g.Whose == "MCS pair":
		text += " (by the pod's MCS pair: another container of the pod may have done it)"
	default:
		text += " (by its profile and the time: another container of that profile may have done it)"
	}
	return text
}
