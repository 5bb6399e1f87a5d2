package main

import (
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// minPatience is how long a side may be behind at least before it has missed
// something.
const minPatience = 5 * time.Second

// comparing is a comparison under way.
type comparing struct {
	*comparison
	env     *env
	opts    compareOptions
	meter   *plegMeter // of the side that lives on hints
	printer comparePrinter
	told    [2]*pleg.Subscription
	began   time.Time
	// header is out: it is known that there is something to compare.
	header bool
}

func (c *comparing) run() error {
	var timeout <-chan time.Time
	if c.opts.last > 0 {
		timer := time.NewTimer(c.opts.last)
		defer timer.Stop()
		timeout = timer.C
	}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-c.told[byHints].Ready():
		case <-c.told[byRelists].Ready():
		case <-c.meter.ready:
		case <-look.C:
		case <-timeout:
			return c.end()
		case <-c.env.interrupts:
			return c.end()
		}
		if err := c.drain(); err != nil {
			return err
		}
	}
}

func (c *comparing) end() error {
	if err := c.drain(); err != nil {
		return err
	}
	now := c.env.now()
	return c.printer.summary(now, c.summary(now.Sub(c.began), c.meter.breaks()))
}

// drain prints what has been decided since the last time.
func (c *comparing) drain() error {
	now := c.env.now()
	for _, n := range c.meter.take() {
		if n.err != nil {
			return &nothingToCompareError{n.err}
		}
		if err := c.printer.note(n.at, n.text); err != nil {
			return err
		}
	}
	if _, known := c.meter.state(); known && !c.header {
		c.header = true
		if err := c.printer.begin(); err != nil {
			return err
		}
	}
	var decided []*transition
	for _, by := range []side{byHints, byRelists} {
		for _, ev := range c.told[by].Take() {
			if !c.opts.filter.shows(ev) {
				continue
			}
			if t := c.add(by, seenEvent{ev, now}); t != nil && !t.missed {
				decided = append(decided, t)
			}
		}
	}
	return c.printer.transitions(now, append(decided, c.overdue(now)...))
}
