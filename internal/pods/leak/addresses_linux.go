package leak

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/netns"
)

// addressesIn enters the network namespace at a path to read its addresses.
func addressesIn(path, ns string) (addresses []Address, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	var st unix.Stat_t
	var where unix.Statfs_t
	if err := errors.Join(unix.Fstat(int(f.Fd()), &st), unix.Fstatfs(int(f.Fd()), &where)); err != nil {
		return nil, err
	}
	if where.Type != unix.NSFS_MAGIC || fmt.Sprintf("net:[%d]", st.Ino) != ns {
		return nil, errChanged
	}
	err = netns.Do(f, func() (err error) {
		addresses, err = ownAddresses()
		return err
	})
	return addresses, err
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
