package images

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/images"
	"github.com/podctl/podctl/internal/pods/usage"
)

const (
	// observePeriod is how often the runtime is asked for its pulls.
	observePeriod = time.Second
	// linePeriod is how often progress is printed where there is no terminal.
	linePeriod = 5 * time.Second
	// barWidth is that of the bar of a layer.
	barWidth = 20
	// minName is what is left at least of a name on a narrow terminal.
	minName = 20
)

// pullProgress shows the pulls of `podctl pull`: on a terminal in place, else in lines on
// stderr.
type pullProgress struct {
	env    *shell.Env
	cancel context.CancelFunc
	ended  sync.WaitGroup
	drawn  *shell.Progress

	mu      sync.Mutex
	left    int // images
	current []currentPull
	// reported is what the runtime reports, failed why it reports nothing.
	reported []pulls.Pull
	failed   error
	history  pulls.History
}

// currentPull is an image that is being pulled.
type currentPull struct {
	image string
	begun time.Time
}

// startPullProgress observes the pulls of the runtime until stop.
func startPullProgress(ctx context.Context, e *shell.Env, client *cri.Client, count int) *pullProgress {
	p := &pullProgress{env: e, left: count}
	ctx, p.cancel = context.WithCancel(ctx)
	p.ended.Go(func() { p.observe(ctx, pulls.NewReader(client, e.Now)) })
	p.drawn = shell.StartProgress(e, true, p.text)
	return p
}

func (p *pullProgress) stop() {
	p.cancel()
	p.ended.Wait()
	p.drawn.Stop()
}

// begin adds an image until end is called.
func (p *pullProgress) begin(image string) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = append(p.current, currentPull{image, p.env.Now()})
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.left--
		p.current = slices.DeleteFunc(p.current, func(c currentPull) bool { return c.image == image })
	}
}

// observe reads the progress until ctx ends.
func (p *pullProgress) observe(ctx context.Context, reader *pulls.Reader) {
	ticks := time.NewTicker(observePeriod)
	defer ticks.Stop()
	printed := p.env.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		all, err := reader.List(ctx)
		if ctx.Err() != nil {
			return
		}
		p.set(all, err)
		if now := p.env.Now(); !p.env.TTY && now.Sub(printed) >= linePeriod {
			printed = now
			for _, line := range p.lines(now) {
				fmt.Fprintln(p.env.Errw, line)
			}
		}
	}
}

func (p *pullProgress) set(all []pulls.Pull, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reported, p.failed = all, err
	p.history.Add(all)
}

// lines are one for each image.
func (p *pullProgress) lines(now time.Time) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, c := range p.current {
		lines = append(lines, p.line(c, now, 0))
	}
	return lines
}

// text is what a terminal shows.
func (p *pullProgress) text(took time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := []string{fmt.Sprintf("pulling %s, %s", output.Plural(p.left, "image"), output.Age(took))}
	width, _ := p.env.Size()
	for _, c := range p.current {
		lines = append(lines, p.line(c, p.env.Now(), width))
		if found := p.find(c); len(found) == 1 {
			for _, l := range found[0].Layers {
				lines = append(lines, layerLine(l))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// find returns the pulls that may be of the image. p.mu is held.
func (p *pullProgress) find(c currentPull) []pulls.Pull {
	var found []pulls.Pull
	for _, r := range p.reported {
		if r.Of(c.image) {
			found = append(found, r)
		}
	}
	return found
}

// line is the progress of an image; a long name is cut so that the line fits into width,
// 0 for any. p.mu is held.
func (p *pullProgress) line(c currentPull, now time.Time, width int) string {
	state := output.OneLine(fmt.Sprintf("%s, for %s", p.state(c), output.Age(now.Sub(c.begun))))
	name := output.OneLine(c.image)
	if width > 0 {
		name = output.CutMiddle(name, max(minName, width-len(state)-len(": ")))
	}
	return name + ": " + state
}

// state is how far the pull of an image is. p.mu is held.
func (p *pullProgress) state(c currentPull) string {
	found := p.find(c)
	switch {
	case len(found) == 1:
		return images.ProgressText(found[0], p.history.Rate(found[0]), usage.Size)
	case len(found) > 1:
		return fmt.Sprintf("one of %d pulls of this repository", len(found))
	case errors.Is(p.failed, cri.ErrUnsupported):
		return p.unattributed()
	case p.failed != nil:
		return "progress not known: " + p.failed.Error()
	}
	return "waits for the registry"
}

// unattributed is what is known of all pulls of a runtime that does not report them.
func (p *pullProgress) unattributed() string {
	if len(p.reported) == 0 {
		return "progress not known"
	}
	var bytes int64
	for _, r := range p.reported {
		bytes += r.Done()
	}
	return fmt.Sprintf("%s written by %s, of any image", usage.Size(uint64(bytes)), output.Plural(len(p.reported), "pull"))
}

// layerLine is "  6388b533e887  [=====>..............]  5.0MiB of 20MiB".
func layerLine(l pulls.Layer) string {
	name := pod.ShortID(strings.TrimPrefix(l.Digest, "sha256:"))
	switch {
	case l.Total == 0:
		return fmt.Sprintf("  %s  %s", name, usage.Size(uint64(l.Done)))
	case l.Complete():
		return fmt.Sprintf("  %s  [%s]  %s", name, strings.Repeat("=", barWidth), usage.Size(uint64(l.Total)))
	case l.Started.IsZero():
		return fmt.Sprintf("  %s  [%s]  waits, %s", name, strings.Repeat(".", barWidth), usage.Size(uint64(l.Total)))
	}
	filled := int(float64(l.Done) / float64(l.Total) * barWidth)
	return fmt.Sprintf("  %s  [%s>%s]  %s of %s", name, strings.Repeat("=", filled), strings.Repeat(".", barWidth-1-filled), usage.Size(uint64(l.Done)), usage.Size(uint64(l.Total)))
}
