package pleg

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/pod"
)

// watchPrinter prints a watch. Its errors are those of the output.
type watchPrinter interface {
	// begin is called first, with the existing pods, once they are known.
	begin(pods []*pod.Pod) error
	events([]plegstat.Event) error
	// note prints a line about the runtime.
	note(at time.Time, text string) error
	summary(at time.Time, s plegstat.WatchSummary) error
}

func newWatchPrinter(e *shell.Env, o watchOptions) watchPrinter {
	if !o.format.IsTable() {
		return &watchData{o.format.NewStream(e.Out)}
	}
	header := []string{"TIME", "POD", "EVENT", "CONTAINER", "DETAIL", "SOURCE", "LAG"}
	if o.NoTrunc {
		header = append(header, "ID")
	}
	p := &watchTable{env: e, full: o.NoTrunc, noHeaders: o.format.NoHeaders, color: e.TTY && !o.NoColor && !e.NoColor, table: output.NewTable(header, 1, 3, 4)}
	p.table.Expect(0, "15:04:05.000")
	p.table.Expect(1, "default/a-pod-0123456789")
	p.table.Expect(2, "ContainerStarted")
	p.table.Expect(3, "(sandbox)")
	p.table.Expect(4, "exit 137 OOMKilled")
	p.table.Expect(5, "relist")
	p.table.Expect(6, "999ms")
	return p
}

// inFuture is LAG of an event that happened after it was detected, by the runtime's time.
const inFuture = "future"

// watchTable prints a table.
type watchTable struct {
	env   *shell.Env
	full  bool
	color bool
	// noHeaders leaves the header out.
	noHeaders bool
	table     *output.Table
}

func (p *watchTable) begin(pods []*pod.Pod) error {
	for _, known := range pods {
		p.table.Expect(1, pod.DisplayName(known.Namespace, known.Name))
		for _, c := range known.Containers {
			p.table.Expect(3, c.Name)
		}
	}
	return p.header()
}

// header prints the header.
func (p *watchTable) header() error {
	if p.noHeaders {
		return nil
	}
	return p.lines(p.table.Header(p.width()))
}

func (p *watchTable) events(events []plegstat.Event) error {
	lines := make([]string, len(events))
	for i, ev := range events {
		lines[i] = p.table.Row(p.cells(ev), p.width())
		if p.color && ev.Failed() {
			lines[i] = output.Red + lines[i] + output.Plain
		}
	}
	return p.lines(lines...)
}

func (p *watchTable) cells(ev plegstat.Event) []string {
	late := ""
	if lag, ok := ev.Lag(); ok {
		late = output.ShortTime(lag)
	} else if ev.InFuture() {
		late = inFuture
	}
	source := string(ev.Source)
	if ev.Initial {
		source = "initial"
	}
	cells := []string{output.Clock(ev.Received), output.OneLine(eventPod(ev)), string(ev.Type), output.OneLine(eventContainer(ev)), output.OneLine(eventDetail(ev)), source, late}
	if p.full {
		cells = append(cells, ev.ID)
	}
	return cells
}

func (p *watchTable) note(at time.Time, text string) error {
	return p.lines(output.Cut(output.Clock(at)+"  "+output.OneLine(text), p.width()))
}

func (p *watchTable) summary(_ time.Time, s plegstat.WatchSummary) error {
	_, err := io.WriteString(p.env.Out, watchSummaryText(s)+"\n")
	return err
}

// width is the width of a line; 0: no limit.
func (p *watchTable) width() int { return p.env.TableWidth(p.full) }

// lines prints lines of escaped cells, which may be colored.
func (p *watchTable) lines(lines ...string) error {
	_, err := io.WriteString(output.Raw(p.env.Out), strings.Join(lines, "\n")+"\n")
	return err
}

// eventPod is the name of the pod that an event is about.
func eventPod(ev plegstat.Event) string {
	if ev.Name == "" {
		return string(ev.PodUID)
	}
	return pod.DisplayName(ev.Namespace, ev.Name)
}

// eventContainer is the name of the container, "(sandbox)" for a sandbox.
func eventContainer(ev plegstat.Event) string {
	switch {
	case ev.Container != "":
		return ev.Container
	case ev.ID != "":
		return "(sandbox)"
	}
	return ""
}

// eventDetail is a sandbox's addresses, a container's exit or its restarts.
func eventDetail(ev plegstat.Event) string {
	c, s := ev.ContainerStatus(), ev.SandboxStatus()
	switch ev.Type {
	case pleg.ContainerStarted:
		switch {
		case c != nil && c.RestartCount > 0:
			return fmt.Sprintf("restart %d", c.RestartCount)
		case s != nil && s.HostNetwork:
			return "host network"
		case s != nil:
			return strings.Join(s.IPs, ",")
		}
	case pleg.ContainerDied:
		switch {
		case c != nil && c.State == pod.Exited:
			return exitDetail(c)
		case ev.Status == nil:
			return "vanished"
		}
	case pleg.PodSync:
		if ev.Coalesced > 0 {
			return output.Plural(ev.Coalesced+1, "event") + " in one"
		}
		if ev.Status == nil {
			return "status does not arrive"
		}
		return "reinspected"
	case pleg.ContainerRemoved, pleg.ContainerChanged:
	}
	return ""
}

// exitDetail is "exit 137 OOMKilled"; reasons that only repeat the code are
// left out.
func exitDetail(c *pod.ContainerStatus) string {
	text := fmt.Sprintf("exit %d", c.ExitCode)
	if c.Reason != "" && c.Reason != "Completed" && c.Reason != "Error" {
		text += " " + c.Reason
	}
	return text
}

// eventTypes are the types of events that subscribers receive.
var eventTypes = []string{
	string(pleg.ContainerStarted), string(pleg.ContainerDied), string(pleg.ContainerRemoved), string(pleg.PodSync),
}

// watchSummaryText is the summary in one line.
func watchSummaryText(s plegstat.WatchSummary) string {
	total := 0
	var types []string
	for _, t := range eventTypes {
		if n := s.Events[t]; n > 0 {
			total += n
			types = append(types, fmt.Sprintf("%d %s", n, t))
		}
	}
	events := fmt.Sprintf("%s in %s", output.Plural(total, "event"), output.Age(seconds(s.Seconds)))
	if len(types) > 0 {
		events += ": " + strings.Join(types, ", ")
	}
	parts := []string{events}
	if s.Relists > 0 {
		parts = append(parts, fmt.Sprintf("%s, max %s", output.Plural(s.Relists, "full relist"), output.ShortTime(seconds(*s.RelistMax))))
	}
	if s.Lags > 0 {
		parts = append(parts, "lag max "+output.ShortTime(seconds(*s.LagMax)))
	}
	if s.InFuture > 0 {
		parts = append(parts, output.Plural(s.InFuture, "event")+" in the future, without a lag: a clock was set back")
	}
	switch {
	case s.Unhinted == nil:
		parts = append(parts, "no hints")
	case *s.Unhinted == 1:
		parts = append(parts, "1 change without a hint")
	case *s.Unhinted > 1:
		parts = append(parts, fmt.Sprintf("%d changes without a hint", *s.Unhinted))
	case total > 0:
		parts = append(parts, "every change had a hint")
	}
	if s.Gaps > 0 {
		parts = append(parts, gapText(s.Gaps))
	}
	return strings.Join(parts, " · ")
}

// gapText says how often the event stream was interrupted.
func gapText(n int) string {
	if n == 1 {
		return "event stream interrupted once"
	}
	return fmt.Sprintf("event stream interrupted %d times", n)
}

// noteText is a note about the runtime.
func noteText(n plegstat.Note) string {
	switch n.Kind {
	case plegstat.RuntimeDown:
		return fmt.Sprintf("runtime down: %v", n.Err)
	case plegstat.RuntimeUp:
		return "runtime up again after " + output.Age(n.Took)
	case plegstat.NoHints:
		return fmt.Sprintf("relists only: %v", n.Err)
	}
	return ""
}
