package hostroot

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/hint"
)

// ServiceAccount is the directory of a pod's service account in its containers.
const ServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// maxToken bounds a token, in bytes.
const maxToken = 64 << 10

// account is the directory of the container's service account, nil if there is
// none or Enter was not called.
var account *os.Root

// entered: the root directory of this process is the host's.
var entered bool

// Enter makes a directory the root directory of this process, and its working
// directory. "/" changes nothing. It must not be called while other goroutines use
// paths, and not twice.
func Enter(dir string) error {
	if filepath.Clean(dir) == "/" {
		return nil
	}
	if info, err := os.Stat(filepath.Join(dir, "proc", "self")); err != nil {
		return enterError(dir, fmt.Errorf("it has no /proc: %w", err))
	} else if !info.IsDir() {
		return enterError(dir, fmt.Errorf("its /proc is not a procfs"))
	}
	account, _ = os.OpenRoot(ServiceAccount) // most pods need none
	if err := syscall.Chroot(dir); err != nil {
		return enterError(dir, err)
	}
	entered = true
	if err := os.Chdir("/"); err != nil {
		return enterError(dir, err)
	}
	return nil
}

// Token returns the token of the container's service account. It is read each
// time: the kubelet replaces it. The error is one of package os if there is none.
func Token() (string, error) {
	dir := account
	if dir == nil && entered {
		return "", fs.ErrNotExist // the path is the host's now
	}
	if dir == nil {
		var err error
		if dir, err = os.OpenRoot(ServiceAccount); err != nil {
			return "", err
		}
		defer func() { _ = dir.Close() }() // it is only read
	}
	f, err := bounded.OpenIn(dir, "token")
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it is only read
	content, err := bounded.All(f, maxToken)
	return strings.TrimSpace(string(content)), err
}

// enterError returns the error for a root directory of the host that cannot be entered.
func enterError(dir string, cause error) error {
	return hint.Errorf("mount the host's / there with mountPropagation: HostToContainer, and give the container SYS_CHROOT",
		"enter the host's root %s: %w", dir, cause)
}
