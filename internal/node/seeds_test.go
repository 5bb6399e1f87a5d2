package node

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seedCount  = flag.Int("seeds", 20, "random histories of a node to play at least")
	seedsFor   = flag.Duration("seeds.for", 0, "play more of them, or the one of -seed or -history again, until this time is over")
	firstSeed  = flag.Uint64("seeds.first", 1, "first of their seeds")
	seedsFound = flag.Int("seeds.found", 1, "failing seeds after which to play no more")
	shrinks    = flag.Bool("seeds.shrink", true, "shrink the history of a seed that fails")
	oneSeed    = flag.Uint64("seed", 0, "play the history of this seed alone, ten times")
	historyOf  = flag.String("history", "", "play the history of this file, and print it")
	playsOnly  = flag.Bool("seeds.player", false, "play what standard input says, for a process that asks for it")
)

// TestSeeds plays random histories, each of a seed: docs/seeds.md. A seed that fails is
// printed, with the shortest history found that fails alike.
func TestSeeds(t *testing.T) {
	switch {
	case *playsOnly:
		playAll(t, os.Stdin, os.Stdout)
	case *historyOf != "" && *seedsFor > 0:
		playAgain(t, readHistory(t, *historyOf), time.Now().Add(*seedsFor))
	case *oneSeed != 0 && *seedsFor > 0:
		playAgain(t, draw(*oneSeed), time.Now().Add(*seedsFor))
	case *historyOf != "":
		playFile(t, *historyOf)
	case *oneSeed != 0:
		for range 10 { // what depends on the order of goroutines does not fail each time
			if playSeeds(t, *oneSeed, 1, time.Time{}); t.Failed() {
				return
			}
		}
	default:
		playSeeds(t, *firstSeed, *seedCount, time.Now().Add(*seedsFor))
	}
}

// TestHistories plays the histories that once showed a bug, and those that are hard to
// come by.
func TestHistories(t *testing.T) {
	if *playsOnly {
		return
	}
	files, err := filepath.Glob("testdata/histories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	p := newPlayer(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			p.mustHold(t, readHistory(t, file))
		})
	}
}

// readHistory reads acts, a line each, and comments.
func readHistory(t *testing.T, file string) (acts []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			acts = append(acts, line)
		}
	}
	return acts
}

func playFile(t *testing.T, file string) {
	p := newPlayer(t)
	acts := readHistory(t, file)
	out := p.play(acts)
	t.Log(strings.Join(out.Log, "\n"))
	if len(out.Violations) > 0 {
		t.Errorf("%s: %s", file, out.Violations[0])
	}
}

// playAgain plays a history until the time is over, and counts how often it fails.
func playAgain(t *testing.T, acts []string, until time.Time) {
	var played, failed atomic.Int64
	var players sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		p := newPlayer(t)
		players.Go(func() {
			for time.Now().Before(until) {
				if played.Add(1); len(p.play(acts).Violations) > 0 {
					failed.Add(1)
				}
			}
		})
	}
	players.Wait()
	t.Logf("fails in %d of %d plays", failed.Load(), played.Load())
}

// failure is a seed whose history breaks an invariant.
type failure struct {
	seed uint64
	outcome
}

// playSeeds plays at least so many seeds, and those that fit into the time.
func playSeeds(t *testing.T, first uint64, count int, until time.Time) {
	began, next := time.Now(), first
	var mu sync.Mutex
	var failed []failure
	take := func() (seed uint64, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(failed) >= *seedsFound || next >= first+uint64(count) && time.Now().After(until) {
			return 0, false
		}
		next++
		return next - 1, true
	}
	var players sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		p := newPlayer(t)
		players.Go(func() {
			for seed, more := take(); more; seed, more = take() {
				if out := p.play(draw(seed)); len(out.Violations) > 0 {
					mu.Lock()
					failed = append(failed, failure{seed, out})
					mu.Unlock()
				}
			}
		})
	}
	players.Wait()
	t.Logf("%d seeds from %d in %.1fs, failed: %d", next-first, first, time.Since(began).Seconds(), len(failed))
	for _, f := range failed {
		report(t, f)
	}
}

// report prints a failing seed and its shrunk history.
func report(t *testing.T, f failure) {
	p := newPlayer(t)
	acts := draw(f.seed)
	shrunk, out := acts, f.outcome
	if *shrinks {
		shrunk, out = p.shrink(acts, f.outcome)
	}
	t.Errorf("seed %d: %s\nshrunk from %d acts to %d, which fail with %s:\n\n%s\n\nwhat happened:\n%s\n\nmake seeds SEED=%d plays it again",
		f.seed, f.Violations[0], len(acts), len(shrunk), out.Violations[0], indent(shrunk), indent(out.Log), f.seed)
}

func indent(lines []string) string { return "    " + strings.Join(lines, "\n    ") }

// mustHold plays a history in which every invariant must hold.
func (p *player) mustHold(t *testing.T, acts []string) outcome {
	out := p.play(acts)
	if len(out.Violations) > 0 {
		t.Errorf("%s\n%s", out.Violations[0], fmt.Sprint(indent(out.Log)))
	}
	return out
}
