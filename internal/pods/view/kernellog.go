package view

import (
	"strconv"
	"strings"
	"time"
)

// KernelLog is what the kernel's log has about killed processes and denials.
type KernelLog struct {
	// Records are oldest first.
	Records []KernelRecord
	// Since is the time of the oldest record of any kind that the log still has, the
	// zero time if it could not be read.
	Since time.Time
	// Slack is how wrong times may be: the clock of the log is not adjusted.
	Slack time.Duration
}

// KernelRecord is a record of the kernel's log.
type KernelRecord struct {
	Time time.Time
	// Text is "" if a process wrote the record, and not the kernel.
	Text string
}

// kernelFacility is what no process can give what it writes to the log.
const kernelFacility = 0

// ParseKernelRecord parses a record as /dev/kmsg has it, with the time since boot in
// microseconds: "6,1234,5678901,-;the text".
func ParseKernelRecord(raw string, boot time.Time) (KernelRecord, bool) {
	head, text, ok := strings.Cut(raw, ";")
	fields := strings.Split(head, ",")
	if !ok || len(fields) < 3 {
		return KernelRecord{}, false
	}
	micros, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return KernelRecord{}, false
	}
	text, _, _ = strings.Cut(text, "\n") // what follows is about devices
	if priority, err := strconv.ParseUint(fields[0], 10, 32); err != nil || priority>>3 != kernelFacility {
		text = ""
	}
	return KernelRecord{boot.Add(time.Duration(micros) * time.Microsecond), text}, true
}
