package twin

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/testkit/testutil"
)

var (
	seed    = flag.Uint64("twin.seed", 1, "seed of the pods")
	n       = flag.Int("twin.n", 40, "how many pods")
	span    = flag.Duration("twin.for", 2*time.Minute, "how long they are watched")
	only    = flag.String("twin.only", "", "run only these pods, separated by commas")
	read    = flag.String("twin.read", "", "compare what this file has, which -twin.keep wrote")
	page    = flag.String("twin.page", "", "page whose row of the seed is written")
	with    = flag.String("twin.podctl", "", "the podctl to compare, instead of one that is built")
	smaller = flag.Bool("twin.smaller", true, "play smaller pods than those that showed a difference")
	keep    = flag.String("twin.keep", "", "file to write what was recorded to")
)

func TestMain(m *testing.M) { live.Main(m) }

// warm is how long a kubelet must have run before its probes begin at once.
const warm = 12 * time.Second

func TestTwin(t *testing.T) {
	plan := NewPlan(*seed, *n, *span)
	if *only != "" {
		plan = plan.Only(strings.Split(*only, ",")...)
	}
	if *read != "" {
		r := readRecorded(t, *read)
		if *only != "" {
			r.show(t, plan)
		}
		compareAndReport(t, r, plan)
		return
	}
	dir := t.TempDir()
	podctl := *with
	if podctl == "" {
		podctl = filepath.Join(dir, "podctl")
		if err := live.Build(podctl, "./cmd/podctl"); err != nil {
			t.Fatal(err)
		}
	}
	r := record(t, dir, podctl, plan)
	if *keep != "" {
		r.write(t, *keep)
	}
	if failing := undocumented(compareAndReport(t, r, plan)); len(failing) > 0 && *smaller {
		shrink(t, podctl, plan.Only(failing[:min(3, len(failing))]...))
	}
}

func compareAndReport(t *testing.T, r *recorded, plan Plan) *Comparison {
	t.Helper()
	c := r.compare(plan)
	report(t, c)
	if *page != "" {
		writePage(t, *page, c)
	}
	return c
}

// shrink plays smaller pods than those that showed a difference, all at once, and prints
// the first of each that shows one.
func shrink(t *testing.T, podctl string, plan Plan) {
	smaller := Plan{Restart: plan.Restart}
	for _, p := range plan.Pods {
		smaller.Pods = append(smaller.Pods, Smaller(p)...)
	}
	failing := undocumented(record(t, t.TempDir(), podctl, smaller).compare(smaller))
	for _, p := range plan.Pods {
		i := slices.IndexFunc(smaller.Pods, func(s Planned) bool { return strings.HasPrefix(s.Name, p.Name+"-") && slices.Contains(failing, s.Name) })
		if i < 0 {
			t.Logf("%s: not seen again, nor with less", p.Name)
			continue
		}
		found := smaller.Pods[i]
		t.Logf("%s: this shows it, too (%s):", p.Name, found.Rules)
		for _, act := range found.Acts {
			t.Logf("at %s:\n%s", act.At, act.Manifest)
		}
	}
}

// undocumented are the pods with a difference that no row explains.
func undocumented(c *Comparison) []string {
	var names []string
	for _, d := range c.Differences {
		if d.Row == "" && !slices.Contains(names, d.Pod) {
			names = append(names, d.Pod)
		}
	}
	return names
}

// record gives the plan to both nodes, and returns what they did.
func record(t *testing.T, dir, podctl string, plan Plan) *recorded {
	t.Helper()
	var rules []string
	for _, p := range plan.Pods {
		rules = append(rules, p.Rules...)
	}
	nodes := []*node{startKubelet(t, dir, podctl, rules), startPodctl(t, dir, podctl, rules)}
	time.Sleep(warm)
	r := &recorded{Began: time.Now(), Logs: map[string]string{}}
	var play sync.WaitGroup
	for i, n := range nodes {
		play.Go(func() { n.play(plan, r.Began, nodes[0]) })
		play.Go(func() { r.Statuses[i] = n.sample(r.Began.Add(*span)) })
	}
	play.Wait()
	r.Ended = time.Now()
	for i, n := range nodes {
		n.clear()
		n.end()
		r.Calls[i], r.Events[i], r.Names[i] = readCalls(t, n.calls), n.events(t), n.names
		text, _ := os.ReadFile(n.log)
		r.Logs[filepath.Base(n.log)] = string(text)
	}
	return r
}

// writePage writes what was compared into the page.
func writePage(t *testing.T, file string, c *Comparison) {
	t.Helper()
	text, err := os.ReadFile(file)
	var written string
	if err == nil {
		written, err = c.Page(string(text), fmt.Sprint(*seed))
	}
	if err == nil {
		err = os.WriteFile(file, []byte(written), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// recorded is what both nodes did, the kubelet first.
type recorded struct {
	Began, Ended time.Time
	Calls        [2][]trace.Data
	Statuses     [2]map[string][]Sample
	Events       [2][]Event
	Names        [2][]string
	Logs         map[string]string // by file
}

func (r *recorded) write(t *testing.T, file string) {
	t.Helper()
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readRecorded(t *testing.T, file string) *recorded {
	t.Helper()
	r := &recorded{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// show prints what the two did, one above the other.
func (r *recorded) show(t *testing.T, plan Plan) {
	for i, suffix := range []string{suffix, ""} {
		lives := Lives(r.Calls[i], r.Ended, strings.NewReplacer(r.Names[i]...), suffix)
		for _, p := range plan.Pods {
			t.Logf("%s of the %s:\n%s", p.Name, [2]string{"kubelet", "podctl"}[i], lives[p.Name].since(r.Began))
		}
	}
	for _, p := range plan.Pods {
		for _, act := range p.Acts {
			t.Logf("%s %s:\n%s", p.Name, act.At, act.Manifest)
		}
		t.Logf("%s", p.Rules)
	}
}

func (r *recorded) compare(plan Plan) *Comparison {
	lives := [2]map[string]*Life{}
	for i, suffix := range []string{suffix, ""} {
		lives[i] = Lives(r.Calls[i], r.Ended, strings.NewReplacer(r.Names[i]...), suffix)
	}
	c := &Comparison{}
	for _, p := range plan.Pods {
		var sides [2]*Side
		for i := range sides {
			of := slices.DeleteFunc(slices.Clone(r.Events[i]), func(e Event) bool { return e.Pod != p.Name || e.At.Before(r.Began) || e.At.After(r.Ended) })
			sides[i] = &Side{Life: lives[i][p.Name], Statuses: r.Statuses[i][p.Name], Events: of, Began: r.Began, Ended: r.Ended}
		}
		c.Add(p, plan.Restart, sides[0], sides[1])
	}
	return c
}

// play writes and removes the manifests at their times, and restarts the node once. podctl is started again when
// the kubelet answers, which takes ten seconds.
func (n *node) play(plan Plan, began time.Time, kubelet *node) {
	type due struct {
		at time.Duration
		do func()
	}
	var all []due
	for _, p := range plan.Pods {
		file := filepath.Join(n.static, p.Name+".yaml")
		for _, act := range p.Acts {
			all = append(all, due{act.At, func() {
				if act.Manifest == "" {
					_ = os.Remove(file)
					return
				}
				beside := n.static + "." + p.Name // a kubelet reads every file there
				_ = os.WriteFile(beside, []byte(act.Manifest), 0o600)
				_ = os.Rename(beside, file)
			}})
		}
	}
	if plan.Restart > 0 {
		all = append(all, due{plan.Restart, func() {
			n.kill()
			if n != kubelet {
				testutil.Poll(live.Timeout, func() bool { _, err := kubelet.pods(); return err == nil })
			}
			n.start()
		}})
	}
	slices.SortStableFunc(all, func(a, b due) int { return int(a.at - b.at) })
	for _, d := range all {
		time.Sleep(time.Until(began.Add(d.at)))
		d.do()
	}
}

// sample reads the statuses of the pods once a second.
func (n *node) sample(until time.Time) map[string][]Sample {
	all := map[string][]Sample{}
	for tick := time.Tick(time.Second); time.Now().Before(until); <-tick {
		at := time.Now()
		pods, err := n.pods()
		if err != nil {
			continue // it is being started again
		}
		for _, p := range pods {
			name := strings.TrimSuffix(p.Name, suffix)
			all[name] = append(all[name], Sample{at, p.Status})
		}
	}
	return all
}

func report(t *testing.T, c *Comparison) {
	t.Helper()
	t.Logf("%d pods: %d calls, %d fields, %d probes, %d states, %d events compared; %d attempts cut, %d containers drifted", c.Pods, c.Calls, c.Fields, c.Probes, c.States, c.Events, c.Cut, c.Drifted)
	if c.Calls == 0 || c.States == 0 || c.Events == 0 {
		t.Fatal("nothing was compared")
	}
	for _, l := range c.Lateness() {
		t.Logf("%-40s %4d  median %s, from %s to %s", l.Class, l.N, l.Median.Round(time.Millisecond), l.First.Round(time.Millisecond), l.Latest.Round(time.Millisecond))
	}
	for _, late := range c.Systematic() {
		t.Errorf("podctl is not as punctual as the kubelet: %s", late)
	}
	for _, d := range c.Differences {
		if d.Row == "" {
			t.Errorf("%s\n  again: make twin SEED=%d N=%d FOR=%s ONLY=%s", d, *seed, *n, *span, d.Pod)
		}
	}
	byRow := c.ByRow()
	for _, row := range slices.Sorted(maps.Keys(byRow)) {
		t.Logf("%3d %s", byRow[row], row)
	}
}
