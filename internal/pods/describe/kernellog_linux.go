package describe

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	kernelLog = "/dev/kmsg"
	// maxRecord is the longest record that the kernel returns, maxRecords how many
	// are read: more than its buffer holds by default.
	maxRecord  = 8 << 10
	maxRecords = 50_000
)

// KernelLog returns the records of the kernel's log about killed processes.
func KernelLog() ([]string, error) {
	// Not by package os, whose poller would wait for the next record.
	fd, err := unix.Open(kernelLog, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", kernelLog, err)
	}
	defer unix.Close(fd)
	var records []string
	buffer := make([]byte, maxRecord)
	for range maxRecords {
		n, err := unix.Read(fd, buffer)
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR): // a record was overwritten
			continue
		case errors.Is(err, unix.EAGAIN), n == 0 && err == nil:
			return records, nil
		case err != nil:
			return records, fmt.Errorf("read %s: %w", kernelLog, err)
		}
		if record := string(buffer[:n]); strings.Contains(record, "oom-kill:") || strings.Contains(record, "Killed process ") {
			records = append(records, record)
		}
	}
	return records, nil
}
