package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	securejoin "github.com/cyphar/filepath-securejoin"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/sys/apiget"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Process is a kubelet that uses the runtime, with its settings.
type Process struct {
	PID int
	// NodeName is its --hostname-override, "" for the host's name.
	NodeName string
	// SettingsErr is why its settings could not be read.
	SettingsErr error

	// age is the time since it was started.
	age      time.Duration
	settings settings
	// root is the path of its root directory, files are those below it.
	root  string
	files files
	// readToken replaces that of podctl's service account in tests.
	readToken func() (string, error)
}

// Find returns the kubelet that uses the runtime at the endpoint, nil if none
// does. The error is an *UnseenError if one may do so that podctl cannot see.
func Find(ctx context.Context, endpoint string) (*Process, error) {
	return findBy(ctx, endpoint, find)
}

// FindConfigured returns the kubelet whose configuration names the endpoint, nil if none does.
// It need not be connected: this shows what to expect of a runtime that does not answer, and
// proves nothing about a pod.
func FindConfigured(ctx context.Context, endpoint string) (*Process, error) {
	return findBy(ctx, endpoint, findConfigured)
}

// findBy returns the process that find returns for the socket of an endpoint. No kubelet uses a
// runtime that is not at a unix socket.
func findBy(ctx context.Context, endpoint string, find func(ctx context.Context, path string) (int, error)) (*Process, error) {
	path, unix := strings.CutPrefix(endpoint, "unix://")
	if !unix {
		return nil, nil
	}
	pid, err := find(ctx, path)
	if pid == 0 {
		return nil, err
	}
	p := &Process{PID: pid, root: rootOf(pid), age: age(pid), files: filesOf(pid)}
	p.settings, p.SettingsErr = readSettingsInTime(ctx, commandLineOf(pid).args, p.files)
	p.NodeName = p.settings.nodeName
	return p, nil
}

// rootOf returns the path of the root directory of a process, "/" if podctl has the
// same one.
func rootOf(pid int) string {
	root := proc.Default.Root(pid)
	theirs, err := proc.Default.Namespace(pid, "mnt")
	ours, ownErr := proc.Default.Namespace(os.Getpid(), "mnt")
	if target, linkErr := os.Readlink(root); err == nil && ownErr == nil && linkErr == nil && theirs == ours && target == "/" {
		return "/"
	}
	return root
}

// age returns the time since a process was started, 0 if that cannot be read.
func age(pid int) time.Duration {
	p, err := proc.Default.Read(pid)
	if err != nil {
		return 0
	}
	started, err := proc.Default.Started(p)
	if err != nil {
		return 0
	}
	return time.Since(started)
}

// followsAPIServer reports whether an API server is one of its sources.
func (p *Process) followsAPIServer() bool { return p.settings.kubeconfig != "" || p.settings.embedded }

// StaticPods returns the path by which podctl opens the kubelet's static pod directory,
// "" if it has none.
func (p *Process) StaticPods() string {
	if p.settings.config.StaticPodPath == "" {
		return ""
	}
	return p.path(p.settings.config.StaticPodPath)
}

// RootDir returns the kubelet's --root-dir, in its mount namespace.
func (p *Process) RootDir() string { return p.settings.rootDir }

// ConfigFile returns the kubelet's --config, in its mount namespace, "" if it has none.
func (p *Process) ConfigFile() string { return p.settings.configFile }

// PodDirs returns the parent of the pods' directories as the kubelet's mount table
// names it, "" if its settings could not be read.
func (p *Process) PodDirs() string {
	if p.SettingsErr != nil || p.settings.rootDir == "" {
		return ""
	}
	dir := strings.TrimPrefix(p.path(filepath.Join(p.settings.rootDir, "pods")), strings.TrimSuffix(p.root, "/"))
	return filepath.Join("/", dir)
}

// HasPodDir reports whether a pod's directory exists: the kubelet removes it when the
// pod has terminated and its volumes are unmounted.
func (p *Process) HasPodDir(uid types.UID) bool {
	if uid == "" || strings.ContainsAny(string(uid), "/.") {
		return false
	}
	_, err := os.Lstat(p.path(filepath.Join(p.settings.rootDir, "pods", string(uid))))
	return err == nil
}

// Reservation returns what the kubelet reserves: by its /configz, else by its
// configuration files and flags, which may have changed since it read them.
func (p *Process) Reservation(ctx context.Context) (*Reservation, error) {
	var answered *Reservation
	_, err := p.ask(ctx, func(ctx context.Context, client *http.Client, url string) (err error) {
		answered, err = reservationAt(ctx, client, url)
		return err
	})
	if err == nil {
		return answered, nil
	}
	switch {
	case p.SettingsErr != nil:
		return nil, p.SettingsErr
	case p.settings.embedded:
		return nil, errors.New("its configuration is not in a file")
	}
	r := p.settings.config.Reservation
	return &r, nil
}

// path returns the path by which podctl opens a file of the kubelet. Symbolic links are
// resolved below the kubelet's root directory.
func (p *Process) path(path string) string { return resolveIn(p.root, path) }

func resolveIn(root, path string) string {
	real, err := securejoin.SecureJoin(root, path)
	if err != nil {
		return filepath.Join(root, path) // a loop of links, which cannot be opened
	}
	return real
}

// servers returns the URLs of the kubelet's servers: the read-only one, if it has one,
// and the authenticated one, which may admit anonymous requests.
func (p *Process) servers() []string {
	c := p.settings.config
	host := c.Address
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	var urls []string
	if c.ReadOnlyPort > 0 {
		urls = append(urls, "http://"+net.JoinHostPort(host, strconv.Itoa(c.ReadOnlyPort)))
	} else if p.settings.embedded {
		urls = append(urls, ReadOnlyURL)
	}
	if c.Port > 0 {
		urls = append(urls, "https://"+net.JoinHostPort(host, strconv.Itoa(c.Port)))
	}
	return urls
}

// CgroupDriver returns the cgroup driver of the kubelet's settings, "" if they could not
// be read. The kubelet ignores it if the runtime names one.
func (p *Process) CgroupDriver() string {
	if p.SettingsErr != nil {
		return ""
	}
	return p.settings.config.CgroupDriver
}

// Server returns the URL of the first server, or the process if the kubelet has none.
func (p *Process) Server() string {
	if urls := p.servers(); len(urls) > 0 {
		return urls[0]
	}
	return fmt.Sprintf("process %d", p.PID)
}

// pods asks the kubelet's PodsAPI, else its servers: of an older kubelet, and where the
// socket cannot be reached.
func (p *Process) pods(ctx context.Context) (podList, error) {
	if p.SettingsErr != nil {
		return podList{}, p.SettingsErr
	}
	pods, by, err := p.podsFromPodsAPI(ctx)
	if err == nil {
		return podList{pods, by, sourcesRead}, nil
	}
	l := podList{}
	if errors.Is(err, errInitializing) {
		l.sources = sourcesUnread
	}
	l.by, err = p.ask(ctx, func(ctx context.Context, client *http.Client, url string) (err error) {
		l.pods, err = apiget.PodList(ctx, client, url+"/pods")
		return err
	})
	return l, err
}

// dial connects in the kubelet's network namespace.
func (p *Process) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = inNetworkOf(p.PID, func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// UnseenError: a kubelet may use the runtime, and podctl cannot see whether one
// does.
type UnseenError struct {
	Socket string
	Cause  error
}

func (e *UnseenError) Error() string {
	return fmt.Sprintf("cannot see whether a kubelet uses %s: %v", e.Socket, e.Cause)
}

func (e *UnseenError) Unwrap() error { return e.Cause }

// Hint says where podctl sees a kubelet.
func (*UnseenError) Hint() string { return seeKubeletHint }

// seeKubeletHint says where podctl sees a kubelet, its files and its connections.
const seeKubeletHint = "run podctl on the host, or in a container with its PID and network namespaces, SYS_PTRACE and SYS_ADMIN"

// AbsentError: a kubelet created pods, and none uses the runtime now.
type AbsentError struct{}

func (*AbsentError) Error() string {
	return "created by a kubelet, and none uses this runtime now: it may be stopped, and adopts its pods when it starts"
}

// Hint names the flag by which the user takes the responsibility.
func (*AbsentError) Hint() string {
	return "start the kubelet, or pass --kubelet-is-gone if it is never started again"
}
