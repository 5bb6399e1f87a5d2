package view

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	kernelLog = "/dev/kmsg"
	// maxRecord is the longest record that the kernel returns, maxRecords how many
	// are read: more than its buffer holds by default.
	maxRecord  = 8 << 10
	maxRecords = 50_000
)

// clockDriftDivisor is how fast the clock of the kernel's log may go wrong: one ten thousandth.
const clockDriftDivisor = 10_000

// ReadKernelLog returns the records of the kernel's log about killed processes, and about denials, and the
// denials since then of auditd's. It returns what could be read also with an error.
func ReadKernelLog() (KernelLog, error) {
	log, err := readKernelLog(func(text string) bool {
		return strings.Contains(text, "oom-kill:") || strings.Contains(text, "Killed process ") || strings.HasPrefix(text, "audit: type=1400 ") || strings.HasPrefix(text, "audit: type=1326 ")
	})
	if err != nil {
		return log, err
	}
	var last time.Time
	for _, d := range denials(log) {
		last = d.Time
	}
	records, err := readAuditLog(auditLog, last)
	log.Records = append(log.Records, records...)
	return log, err
}

// ReadKernelLogWhole returns all records of the kernel's log.
func ReadKernelLogWhole() (KernelLog, error) {
	return readKernelLog(func(string) bool { return true })
}

func readKernelLog(wanted func(text string) bool) (KernelLog, error) {
	// Not by package os, whose poller would wait for the next record.
	fd, err := unix.Open(kernelLog, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return KernelLog{}, fmt.Errorf("open %s: %w", kernelLog, err)
	}
	defer unix.Close(fd)
	var sinceBoot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &sinceBoot); err != nil {
		return KernelLog{}, fmt.Errorf("read %s: %w", kernelLog, err)
	}
	uptime := time.Duration(sinceBoot.Nano())
	boot := time.Now().Add(-uptime)
	read := KernelLog{Slack: time.Second + uptime/clockDriftDivisor}
	buffer := make([]byte, maxRecord)
	for range maxRecords {
		n, err := unix.Read(fd, buffer)
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR): // a record was overwritten
			continue
		case errors.Is(err, unix.EAGAIN), n == 0 && err == nil:
			return read, nil
		case err != nil:
			return KernelLog{}, fmt.Errorf("read %s: %w", kernelLog, err)
		}
		record, ok := ParseKernelRecord(string(buffer[:n]), boot)
		if !ok {
			continue
		}
		if read.Since.IsZero() {
			read.Since = record.Time
		}
		if wanted(record.Text) {
			read.Records = append(read.Records, record)
		}
	}
	return KernelLog{}, fmt.Errorf("read %s: it has more than %d records", kernelLog, maxRecords)
}
