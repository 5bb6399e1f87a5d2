package view

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pods/denied"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// KernelLog is what the kernel's log has about killed processes and denials, and auditd's about denials.
type KernelLog struct {
	// Records are oldest first, and those of auditd after the kernel's.
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
	// Text is "" if a process wrote the record, and not the kernel; of auditd, the line of its log.
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

const (
	// auditLog is where auditd writes what the kernel gives it, which the kernel's log does not have then.
	auditLog = "/var/log/audit/audit.log"
	// maxAuditLog is how much of its end is read.
	maxAuditLog = 1 << 20
)

// readAuditLog returns the denials after a time at the end of a log of auditd; none if there is no log.
func readAuditLog(path string, after time.Time) ([]KernelRecord, error) {
	f, err := bounded.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxAuditLog), maxAuditLog))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if info.Size() > maxAuditLog {
		_, text, _ = bytes.Cut(text, []byte("\n")) // a part of a line
	}
	var found []KernelRecord
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if d, ok := denied.Parse(line, time.Time{}); ok && d.Time.After(after) {
			found = append(found, KernelRecord{d.Time, line})
		}
	}
	return found, nil
}
