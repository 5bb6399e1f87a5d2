package runview

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// livePrinter keeps a table of the pods at the bottom of a terminal; everything else
// scrolls above it. The last state of the table stays.
type livePrinter struct {
	screen  Screen
	pulling pullImages

	mu sync.Mutex
	// rows is the height of the table on the screen.
	rows  int
	table string
}

func newLivePrinter(s Screen) *livePrinter {
	return &livePrinter{screen: s, pulling: pullImages{}}
}

// pullImages are the images that the pods pull, by their last events.
type pullImages map[types.UID]string

func (a pullImages) update(ev event.Event) {
	switch ev.Reason {
	case event.Pulling:
		a[ev.UID] = ev.Image.Name
	case event.Created, event.Started, event.Pulled, event.Failed, event.SandboxReady:
		delete(a, ev.UID)
	}
}

// activity is what a pod is doing by its last event, "" if nothing.
func (p *livePrinter) activity(uid types.UID) string {
	image, ok := p.pulling[uid]
	if !ok {
		return ""
	}
	return "pulling " + image
}

func (p *livePrinter) Note(text string) { p.printAbove(text) }

func (p *livePrinter) Event(ev event.Event) {
	p.pulling.update(ev)
	if ev.UID == "" {
		p.printAbove(output.Clock(ev.Time) + "  " + output.OneLine(pod.ErrorText(ev.Text())))
	}
}

func (p *livePrinter) Log(l LogLine) {
	p.printAbove(fmt.Sprintf("%s/%s/%s | %s", l.Namespace, l.Pod, l.Container, output.Printable(l.Text)))
}

func (p *livePrinter) Refresh(infos []node.Info) {
	_, height := p.screen.Size()
	p.redraw(p.renderTable(infos, height-1)) // the cursor stands below
}

func (p *livePrinter) redraw(table string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if table == p.table {
		return
	}
	p.eraseTable()
	p.draw(table)
}

func (p *livePrinter) Finish(infos []node.Info) { p.redraw(p.renderTable(infos, 0)) }

// printAbove prints a line over the table.
func (p *livePrinter) printAbove(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.eraseTable()
	fmt.Fprintln(p.screen.Out, text)
	p.draw(p.table)
}

// eraseTable removes the table from the screen; the cursor is where the table began.
func (p *livePrinter) eraseTable() {
	if p.rows > 0 {
		// The terminal may have echoed a ^C, so first back to the left.
		fmt.Fprintf(output.Raw(p.screen.Out), "\r\x1b[%dA\x1b[J", p.rows)
	}
	p.rows = 0
}

func (p *livePrinter) draw(table string) {
	fmt.Fprint(output.Raw(p.screen.Out), table) // its cells are escaped, its colors are not
	p.table, p.rows = table, strings.Count(table, "\n")
}

// renderTable returns the table. Each line is cut to the terminal's width. Pods that do not
// fit into lines are counted in the last one; less than 3 is no limit.
func (p *livePrinter) renderTable(infos []node.Info, lines int) string {
	more := 0
	if lines >= 3 && len(infos)+1 > lines {
		more = len(infos) + 2 - lines
		infos = infos[:len(infos)-more]
	}
	rows := make([][]string, len(infos))
	for n, i := range infos {
		rows[n] = podRow(i, p.activity(i.Pod.UID), p.screen.Now())
	}
	width, _ := p.screen.Size()
	t := output.NewTable(podHeader, 0, len(podHeader)-1)
	drawn := t.Rows(rows, width)
	var table strings.Builder
	table.WriteString(t.Header(width) + "\n")
	for n, line := range drawn {
		table.WriteString(p.colored(infos[n], line) + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&table, "and %s more\n", output.Plural(more, "pod"))
	}
	return table.String()
}

// colored returns the line in the color of a pod that failed or waits. The words say it, too.
func (p *livePrinter) colored(i node.Info, line string) string {
	color := ""
	switch {
	case i.Rejected != nil || i.Status.Phase == "Failed":
		color = output.Red
	case waitingText(i, p.screen.Now()) != "":
		color = output.Yellow
	}
	if !p.screen.Color || color == "" {
		return line
	}
	return color + line + output.Plain
}
