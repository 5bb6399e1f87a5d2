package main

import (
	"context"
	"debug/elf"
	"debug/gosym"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/podctl/podctl/internal/cri"
)

const (
	// startRounds is how often the programs are started.
	startRounds = 25
	// fileGoal is the most that podctl's file may have, in bytes.
	fileGoal = 45_000_000
	// leastWeight is the weight in bytes below which a part is not named, nor its growth.
	leastWeight = 16 << 10
)

// recordedStart is what the program's file and start were made of when -record wrote it.
//
//go:embed testdata/start.txt
var recordedStart string

// benchStart times the start of the program beside that of ctr, and names what grew: packages in its
// file, and what they allocate before it runs.
func benchStart(ctx context.Context, o options) error {
	if o.podctl == "" {
		return nil
	}
	ways := []way{{name: "podctl options", run: command(ctx, o.podctl, "options"), peer: "ctr --version", ratio: 1}}
	if ctr := findCtr(o.endpoint); ctr != "" {
		ways = append(ways, way{name: "ctr --version", run: command(ctx, ctr, "--version")})
	}
	if err := versus("the start of the program, which every command has", startRounds, ways); err != nil {
		return err
	}
	file, err := os.Stat(o.podctl)
	if err != nil {
		return err
	}
	fmt.Printf("its file: %.1f MB, goal ≤ %.0f MB\n", float64(file.Size())/1e6, fileGoal/1e6)
	weights, err := weigh(ctx, o.podctl)
	if err != nil {
		return err
	}
	if o.record != "" {
		return os.WriteFile(o.record, []byte(weightLines(weights)), 0o644)
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what grew\tthen\tnow")
	recorded := readWeights(recordedStart)
	for _, part := range grown(recorded, weights) {
		fmt.Fprintf(t, "%s\t%d kB\t%d kB\n", part, recorded[part]>>10, weights[part]>>10)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// findCtr returns the path of the ctr that belongs to the runtime, or of the one in PATH; "" if there
// is none, and says so.
func findCtr(endpoint string) string {
	server, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", cri.ServerOf(cri.Endpoint{Runtime: endpoint}).PID))
	for _, name := range []string{filepath.Join(filepath.Dir(server), "ctr"), "ctr"} {
		if ctr, err := exec.LookPath(name); err == nil {
			return ctr
		}
	}
	fmt.Println("ctr is not in PATH: its time is missing, and the goal beside it is not checked")
	return ""
}

// weigh returns the bytes of code of each package's module, and what each package allocates when it is
// initialized: both are the same in every run.
func weigh(ctx context.Context, program string) (map[string]int, error) {
	file, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := file.Section(".gopclntab").Data()
	if err != nil {
		return nil, err
	}
	symbols, err := gosym.NewTable(nil, gosym.NewLineTable(lines, file.Section(".text").Addr))
	if err != nil {
		return nil, err
	}
	weights := map[string]int{}
	for _, f := range symbols.Funcs {
		words := strings.Split(f.PackageName(), "/")
		weights["code "+strings.Join(words[:min(3, len(words))], "/")] += int(f.End - f.Entry)
	}
	start := exec.CommandContext(ctx, program, "options")
	start.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	start.Stderr = &trace
	if err := start.Run(); err != nil {
		return nil, err
	}
	for line := range strings.Lines(trace.String()) { // init PACKAGE @1 ms, 0.1 ms clock, 123 bytes, 4 allocs
		if words := strings.Fields(line); len(words) > 8 && words[0] == "init" {
			weights["init "+words[1]], _ = strconv.Atoi(words[7])
		}
	}
	return weights, nil
}

// grown returns the parts that are heavier than recorded by a tenth, sorted.
func grown(recorded, weights map[string]int) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(weights)), func(part string) bool {
		return weights[part] < leastWeight || weights[part] <= recorded[part]+recorded[part]/10
	})
}

func weightLines(weights map[string]int) string {
	var b strings.Builder
	for _, part := range slices.Sorted(maps.Keys(weights)) {
		if weights[part] >= leastWeight {
			fmt.Fprintf(&b, "%s %d\n", part, weights[part])
		}
	}
	return b.String()
}

func readWeights(text string) map[string]int {
	weights := map[string]int{}
	for line := range strings.Lines(text) {
		at := strings.LastIndexByte(line, ' ')
		weights[line[:at]], _ = strconv.Atoi(strings.TrimSpace(line[at:]))
	}
	return weights
}
