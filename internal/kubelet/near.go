package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	securejoin "github.com/cyphar/filepath-securejoin"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/apiget"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/proc"
)

// Near is a kubelet that uses the runtime, with its settings.
type Near struct {
	PID int
	// Age is the time since it was started.
	Age time.Duration
	// NodeName is its --hostname-override, "" for the host's name.
	NodeName string
	// Follows: an API server is one of its sources.
	Follows bool
	// Err is why its settings could not be read.
	Err error

	settings settings
	// root is the path of its root directory, files are those below it.
	root  string
	files files
	// readToken replaces that of podctl's service account in tests.
	readToken func() (string, error)
}

// Find returns the kubelet that uses the runtime at the endpoint, nil if none
// does. The error is an *UnseenError if one may do so that podctl cannot see.
func Find(ctx context.Context, endpoint string) (*Near, error) {
	path, unix := strings.CutPrefix(endpoint, "unix://")
	if !unix {
		return nil, nil
	}
	pid, err := find(ctx, path)
	if pid == 0 {
		return nil, err
	}
	n := &Near{PID: pid, root: rootOf(pid), Age: age(pid), files: filesOf(pid)}
	n.settings, n.Err = settingsInTime(ctx, readProcess(pid).args, n.files)
	n.NodeName = n.settings.nodeName
	n.Follows = n.settings.kubeconfig != "" || n.settings.embedded
	return n, nil
}

// rootOf is the path of the root directory of a process, "/" if it is podctl's.
func rootOf(pid int) string {
	root := proc.Default.Root(pid)
	theirs, err := proc.Default.Namespace(pid, "mnt")
	ours, ownErr := proc.Default.Namespace(os.Getpid(), "mnt")
	if target, linkErr := os.Readlink(root); err == nil && ownErr == nil && linkErr == nil && theirs == ours && target == "/" {
		return "/"
	}
	return root
}

// age is the time since a process was started, 0 if it cannot be read.
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

// StaticPods is its static pod directory as podctl sees it, "" if it has none.
func (n *Near) StaticPods() string {
	if n.settings.config.StaticPodPath == "" {
		return ""
	}
	return n.path(n.settings.config.StaticPodPath)
}

// RootDir is its root directory as it names it.
func (n *Near) RootDir() string { return n.settings.rootDir }

// ConfigFile is its configuration file as it names it, "" if it has none.
func (n *Near) ConfigFile() string { return n.settings.configFile }

// PodDirs is the directory of its pods' directories as its mount table names it,
// "" if its settings could not be read.
func (n *Near) PodDirs() string {
	if n.Err != nil || n.settings.rootDir == "" {
		return ""
	}
	dir := strings.TrimPrefix(n.path(filepath.Join(n.settings.rootDir, "pods")), strings.TrimSuffix(n.root, "/"))
	return filepath.Join("/", dir)
}

// HasPodDir reports whether it still has the directory of a pod: it removes that
// when the pod has terminated and its volumes are unmounted.
func (n *Near) HasPodDir(uid types.UID) bool {
	if uid == "" || strings.ContainsAny(string(uid), "/.") {
		return false
	}
	_, err := os.Lstat(n.path(filepath.Join(n.settings.rootDir, "pods", string(uid))))
	return err == nil
}

// Reservation is what it reserves: by its /configz, else by its configuration
// files and flags, which it read when it was started.
func (n *Near) Reservation(ctx context.Context) (*Reservation, error) {
	var answered *Reservation
	_, err := n.ask(ctx, func(ctx context.Context, client *http.Client, url string) (err error) {
		answered, err = reservationAt(ctx, client, url)
		return err
	})
	if err == nil {
		return answered, nil
	}
	switch {
	case n.Err != nil:
		return nil, n.Err
	case n.settings.embedded:
		return nil, errors.New("its configuration is not in a file")
	}
	r := n.settings.config.Reservation
	return &r, nil
}

// path is the path of one of its files as podctl sees it. Symbolic links are
// resolved below its root directory.
func (n *Near) path(path string) string { return below(n.root, path) }

func below(root, path string) string {
	real, err := securejoin.SecureJoin(root, path)
	if err != nil {
		return filepath.Join(root, path) // a loop of links, which cannot be opened
	}
	return real
}

// servers are the URLs of its servers: the read-only one, if it has one, and the
// authenticated one, which may admit anonymous requests.
func (n *Near) servers() []string {
	c := n.settings.config
	host := c.Address
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	var urls []string
	if c.ReadOnlyPort > 0 {
		urls = append(urls, "http://"+net.JoinHostPort(host, strconv.Itoa(c.ReadOnlyPort)))
	} else if n.settings.embedded {
		urls = append(urls, ReadOnlyURL)
	}
	if c.Port > 0 {
		urls = append(urls, "https://"+net.JoinHostPort(host, strconv.Itoa(c.Port)))
	}
	return urls
}

// CgroupDriver is that of its settings, which it ignores if the runtime names its own;
// "" if they could not be read.
func (n *Near) CgroupDriver() string {
	if n.Err != nil {
		return ""
	}
	return n.settings.config.CgroupDriver
}

// Server is the URL of its first server.
func (n *Near) Server() string {
	if urls := n.servers(); len(urls) > 0 {
		return urls[0]
	}
	return fmt.Sprintf("process %d", n.PID)
}

// NearTimeout bounds the answers of all its servers: they are one process of this
// machine, which answers from memory.
const NearTimeout = 5 * time.Second

// Pods returns the pods that it manages.
func (n *Near) Pods(ctx context.Context) ([]*v1.Pod, error) {
	pods, _, err := n.PodsBy(ctx)
	return pods, err
}

// PodsAndWorking returns the pods that it manages and, only where these alone do not
// show that they are all, what its metrics say, read before the pods: the metrics take
// longer, and hang while its runtime does. limit bounds each answer of its pods.
func (n *Near) PodsAndWorking(ctx context.Context, limit time.Duration) ([]*v1.Pod, Working, error) {
	ask := func() ([]*v1.Pod, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return n.Pods(ctx)
	}
	pods, err := ask()
	if err != nil || n.Complete(Working{}, pods) == nil {
		return pods, Working{}, err
	}
	w := n.Working(ctx)
	if !w.Housekept {
		return pods, Working{}, nil
	}
	again, err := ask()
	if err != nil {
		return pods, Working{}, nil
	}
	return again, w, nil
}

// PodsBy returns the pods that it manages, and how it was asked.
func (n *Near) PodsBy(ctx context.Context) (pods []*v1.Pod, by Access, err error) {
	if n.Err != nil {
		return nil, Access{}, n.Err
	}
	by, err = n.ask(ctx, func(ctx context.Context, client *http.Client, url string) (err error) {
		pods, err = apiget.PodList(ctx, client, url+"/pods")
		return err
	})
	return pods, by, err
}

// dial connects in its network namespace.
func (n *Near) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = inNetworkOf(n.PID, func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// settle is the age from which on a kubelet counts as settled.
const settle = time.Minute

// Settled returns nil if the pods that it answered with are complete, as far as
// its housekeeping, else its age, and its static pod directory show. w was read
// before the pods.
func (n *Near) Settled(w Working, pods, static []*v1.Pod) error {
	if n.Age < settle && !w.Housekept {
		return fmt.Errorf("it was started %s ago", n.Age.Round(100*time.Millisecond))
	}
	known := map[string]bool{}
	for _, p := range pods {
		known[p.Namespace+"/"+p.Name] = true
	}
	for _, p := range static {
		if !known[p.Namespace+"/"+p.Name] {
			return fmt.Errorf("it does not name its static pod %s/%s yet", p.Namespace, p.Name)
		}
	}
	return nil
}

// errUnheard: a kubelet that started while its API server did not answer knows
// only its static pods, and leaves the others running.
var errUnheard = errors.New("it names no pod of its API server, and may not have reached it yet")

// errEmpty: a kubelet answers with an empty list before it has read its sources,
// which may take it minutes on a busy machine.
var errEmpty = errors.New("it names no pod, and may not have read its sources yet")

// Heard returns nil if what the kubelet answered with shows that it has reached
// its API server, if it follows one, else that it has read its static pods. w was read
// before the pods.
func (n *Near) Heard(w Working, pods []*v1.Pod) error {
	ofServer := func(p *v1.Pod) bool { return p.Annotations[pod.ConfigSourceAnnotation] == "api" }
	switch {
	case w.Housekept:
		return nil
	case n.Follows && !slices.ContainsFunc(pods, ofServer):
		return errUnheard
	case len(pods) == 0:
		return errEmpty
	}
	return nil
}

// Complete returns nil if the pods that it answered with are all that it has: it
// terminates every other one. w was read before the pods.
func (n *Near) Complete(w Working, pods []*v1.Pod) error {
	if err := n.Heard(w, pods); err != nil {
		return err
	}
	return n.Settled(w, pods, nil)
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

// Hint says where podctl would see it.
func (*UnseenError) Hint() string {
	return "run podctl on the host, or in a container with its PID and network namespaces, SYS_PTRACE and SYS_ADMIN"
}

// AbsentError: a kubelet created pods, and none uses the runtime now.
type AbsentError struct{}

func (*AbsentError) Error() string {
	return "created by a kubelet, and none uses this runtime now: it may be stopped, and adopts its pods when it starts"
}

// Hint names the flag that takes the responsibility.
func (*AbsentError) Hint() string {
	return "start the kubelet, or pass --kubelet-is-gone if it is never started again"
}
