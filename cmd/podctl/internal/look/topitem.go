package look

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/inspect"
	"github.com/podctl/podctl/internal/pods/usage"
	"github.com/podctl/podctl/internal/pods/view"
)

// topItem is one pod or container of `podctl top -o json`. What is missing is not
// known, or there is no limit.
type topItem struct {
	cliName   string           // selects the pod or container on a command line
	Metadata  inspect.Metadata `json:"metadata"`                     // of the pod
	Container string           `json:"container,omitempty"`          // of top containers
	CPU       topCPU           `json:"cpu"`                          // between the two samples
	Memory    topMemory        `json:"memory"`                       // at the second sample
	PIDs      *uint64          `json:"pids,omitempty"`               // processes and threads
	Network   *topNetwork      `json:"network,omitempty"`            // of a pod with a network of its own
	Disk      *uint64          `json:"writableLayerBytes,omitempty"` // bytes in the containers' own layers
	PSI       pod.PSI          `json:"psi,omitzero"`                 // of the cgroup, at the second sample
}

// topCPU is the CPU used between the two samples.
type topCPU struct {
	Cores     *float64 `json:"cores,omitempty"`            // CPU used, in cores
	Limit     *float64 `json:"limitCores,omitempty"`       // of the container, or of all of the pod
	Percent   *float64 `json:"percentOfLimit,omitempty"`   // missing without a limit
	Throttled *float64 `json:"throttledPercent,omitempty"` // of the periods, those in which the limit was reached
}

// topMemory is the memory used at the second sample.
type topMemory struct {
	WorkingSet *uint64  `json:"workingSetBytes,omitempty"` // memory that cannot be reclaimed at once
	Limit      *uint64  `json:"limitBytes,omitempty"`      // of the container, or of all of the pod
	Percent    *float64 `json:"percentOfLimit,omitempty"`  // missing without a limit
	Swap       *uint64  `json:"swapBytes,omitempty"`       // memory that is swapped out
}

// topNetwork is the traffic between the two samples.
type topNetwork struct {
	Rx float64 `json:"receivedBytesPerSecond"` // bytes received
	Tx float64 `json:"sentBytesPerSecond"`     // bytes sent
}

func newTopItem(p *view.Pod, c *pod.Container, u usage.Usage) topItem {
	i := topItem{
		cliName:  p.ContainerCLIName(c),
		Metadata: inspect.Metadata{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)},
		CPU:      topCPU{Cores: u.CPU, Limit: u.CPULimit, Percent: u.CPUPercent(), Throttled: u.ThrottledPercent()},
		Memory:   topMemory{WorkingSet: u.Memory, Limit: u.MemoryLimit, Percent: u.MemoryPercent(), Swap: u.Swap},
		PIDs:     u.PIDs, Disk: u.Disk, PSI: u.PSI,
	}
	if c != nil {
		i.Container = c.Name
	}
	if u.Rx != nil && u.Tx != nil {
		i.Network = &topNetwork{*u.Rx, *u.Tx}
	}
	return i
}

// topColumn is a column of the table, and a key to sort by.
type topColumn struct {
	header, key string
	// pods: it is known of pods only.
	pods bool
	// wide: only -o wide shows it.
	wide bool
	// psi: it shows PSI.
	psi   bool
	value func(topItem) *float64
	text  func(float64) string
}

var topColumns = []topColumn{
	{header: "CPU", key: "cpu", value: func(i topItem) *float64 { return i.CPU.Cores }, text: usage.Cores},
	{header: "CPU%", key: "cpu%", value: func(i topItem) *float64 { return i.CPU.Percent }, text: percentText},
	{header: "THROTTLED", key: "throttled", value: func(i topItem) *float64 { return i.CPU.Throttled }, text: percentText},
	{header: "MEMORY", key: "memory", value: func(i topItem) *float64 { return number(i.Memory.WorkingSet) }, text: usage.Bytes[float64]},
	{header: "MEM%", key: "memory%", value: func(i topItem) *float64 { return i.Memory.Percent }, text: percentText},
	{header: "PIDS", key: "pids", value: func(i topItem) *float64 { return number(i.PIDs) }, text: func(n float64) string { return fmt.Sprintf("%.0f", n) }},
	{header: "RX/S", key: "rx", pods: true, value: func(i topItem) *float64 { return i.rate(func(n *topNetwork) float64 { return n.Rx }) }, text: usage.Bytes[float64]},
	{header: "TX/S", key: "tx", pods: true, value: func(i topItem) *float64 { return i.rate(func(n *topNetwork) float64 { return n.Tx }) }, text: usage.Bytes[float64]},
	{header: "DISK", key: "disk", value: func(i topItem) *float64 { return number(i.Disk) }, text: usage.Bytes[float64]},
	{header: "SWAP", key: "swap", wide: true, value: func(i topItem) *float64 { return number(i.Memory.Swap) }, text: usage.Bytes[float64]},
	psiColumn("CPU SOME", "cpu-some", func(p pod.PSI) *pod.Stall { return p.CPU }, some),
	psiColumn("CPU FULL", "cpu-full", func(p pod.PSI) *pod.Stall { return p.CPU }, full),
	psiColumn("MEM SOME", "memory-some", func(p pod.PSI) *pod.Stall { return p.Memory }, some),
	psiColumn("MEM FULL", "memory-full", func(p pod.PSI) *pod.Stall { return p.Memory }, full),
	psiColumn("IO SOME", "io-some", func(p pod.PSI) *pod.Stall { return p.IO }, some),
	psiColumn("IO FULL", "io-full", func(p pod.PSI) *pod.Stall { return p.IO }, full),
}

func some(s *pod.Stall) float64 { return s.Some }
func full(s *pod.Stall) float64 { return s.Full }

func psiColumn(header, key string, of func(pod.PSI) *pod.Stall, part func(*pod.Stall) float64) topColumn {
	return topColumn{header: header, key: key, wide: true, psi: true, text: percentText, value: func(i topItem) *float64 {
		stall := of(i.PSI)
		if stall == nil {
			return nil
		}
		percent := part(stall)
		return &percent
	}}
}

func (i topItem) rate(of func(*topNetwork) float64) *float64 {
	if i.Network == nil {
		return nil
	}
	n := of(i.Network)
	return &n
}

func topSortKeys() []string {
	var keys []string
	for _, c := range topColumns {
		keys = append(keys, c.key)
	}
	return keys
}

func number(n *uint64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

func percentText(n float64) string {
	if n > 0 && n < 0.5 {
		return "<1%"
	}
	return fmt.Sprintf("%.0f%%", n)
}

// unknownText stands for a value that is not known.
const unknownText = "-"

// sortTop sorts by a column, largest first, what is not known last.
func sortTop(items []topItem, by topColumn) {
	slices.SortStableFunc(items, func(a, b topItem) int {
		x, y := by.value(a), by.value(b)
		switch {
		case x == nil && y == nil:
			return 0
		case x == nil:
			return 1
		case y == nil:
			return -1
		}
		return cmp.Compare(*y, *x)
	})
}

// topList is the table of the items.
func topList(containers bool, items []topItem) output.List {
	l := output.List{Header: []string{"POD"}}
	if containers {
		l.Header = append(l.Header, "CONTAINER")
	}
	var columns []topColumn
	for _, c := range topColumns {
		switch {
		case containers && c.pods:
			continue
		case c.wide:
			l.Wide = append(l.Wide, c.header)
		default:
			l.Header = append(l.Header, c.header)
		}
		columns = append(columns, c)
	}
	l.Wide = append(l.Wide, "CPU LIMIT", "MEMORY LIMIT", "UID")
	for _, i := range items {
		row := output.Item{Name: i.cliName, Data: i, Cells: []string{i.Metadata.Namespace + "/" + i.Metadata.Name}}
		if containers {
			row.Cells = append(row.Cells, i.Container)
		}
		for _, c := range columns {
			if text := known(c.value(i), c.text); c.wide {
				row.Wide = append(row.Wide, text)
			} else {
				row.Cells = append(row.Cells, text)
			}
		}
		row.Wide = append(row.Wide, known(i.CPU.Limit, usage.Cores), known(number(i.Memory.Limit), usage.Bytes[float64]), i.Metadata.UID)
		l.Items = append(l.Items, row)
	}
	return l
}

// psiNote returns a line with why PSI of items is not known, "" if that of each running one is.
func psiNote(items []topItem) string {
	var reasons []string
	for _, i := range items {
		if why := i.PSI.Unknown; why != "" && !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	return "PSI is not known: " + strings.Join(reasons, "; ") + "\n"
}

// known is the text of a value, - if it is not known.
func known(value *float64, text func(float64) string) string {
	if value == nil {
		return unknownText
	}
	return text(*value)
}
