package leak

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"

	"golang.org/x/sys/unix"
)

// addressesIn enters the network namespace at a path to read its addresses.
func addressesIn(path, ns string) ([]Address, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }() // it is only read
	var st unix.Stat_t
	var where unix.Statfs_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if err := unix.Fstatfs(fd, &where); err != nil {
		return nil, err
	}
	if where.Type != unix.NSFS_MAGIC || fmt.Sprintf("net:[%d]", st.Ino) != ns {
		return nil, errChanged
	}
	type answer struct {
		addresses []Address
		err       error
	}
	answers := make(chan answer, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		var a answer
		if a.err = unix.Setns(fd, unix.CLONE_NEWNET); a.err == nil {
			a.addresses, a.err = ownAddresses()
		}
		answers <- a
	}()
	a := <-answers
	return a.addresses, a.err
}

// ownAddresses are those of the network namespace of this thread.
func ownAddresses() (found []Address, err error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			return nil, err
		}
		for _, a := range addresses {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				found = append(found, Address{i.Name, prefix.Addr()})
			}
		}
	}
	return found, nil
}
