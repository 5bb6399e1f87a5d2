package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/podctl/podctl/internal/sys/apiget"
	"github.com/podctl/podctl/internal/sys/unixdiag"
)

// podsAPI is the path of the kubelet's PodsAPI socket below its root directory: by
// default, a kubelet since 1.37 has it (getPodsAPIDir in
// pkg/kubelet/kubelet_getters.go).
const podsAPI = "pods-api/pods-api.sock"

// podsAPITimeout leaves as much of Timeout to the kubelet's other servers.
const podsAPITimeout = Timeout / 2

// errInitializing: the kubelet answers so until it has read all of its sources.
var errInitializing = errors.New("it has not read all of its sources yet")

// podsFromPodsAPI asks the kubelet's PodsAPI, which needs no credential and names pods only
// once the kubelet has read all of its sources; errInitializing before that
// (pkg/kubelet/apis/pods/server.go). It is listed and not watched: a watch is told of what
// changes a pod's status (pkg/kubelet/status/status_manager.go), and so not that a pod is
// to terminate because no source has it any more.
func (p *Process) podsFromPodsAPI(ctx context.Context) ([]*v1.Pod, Access, error) {
	if p.settings.rootDir == "" {
		return nil, Access{}, errors.New("its root directory is not known")
	}
	socket := filepath.Join(p.settings.rootDir, podsAPI)
	by := Access{URL: "unix://" + socket, Credential: Credential{Kind: Anonymous}}
	conn, err := grpc.NewClient("passthrough:///kubelet", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return p.dialKubeletSocket(ctx, p.path(socket)) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(apiget.MaxSize)))
	if err != nil {
		return nil, by, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, podsAPITimeout)
	defer cancel()
	list, err := podsv1alpha1.NewPodsClient(conn).ListPods(ctx, &podsv1alpha1.ListPodsRequest{})
	if status.Code(err) == codes.FailedPrecondition {
		err = errInitializing
	}
	if err != nil {
		return nil, by, err
	}
	if len(list.Pods) > apiget.MaxPods {
		return nil, by, fmt.Errorf("%s: more than %d pods", by.URL, apiget.MaxPods)
	}
	pods := make([]*v1.Pod, 0, len(list.Pods))
	for _, encoded := range list.Pods {
		pod := &v1.Pod{}
		if err := pod.Unmarshal(encoded); err != nil {
			return nil, by, fmt.Errorf("%s: read pod: %w", by.URL, err)
		}
		pods = append(pods, pod)
	}
	return pods, by, nil
}

// dialKubeletSocket connects to a unix socket that the kubelet itself serves.
func (p *Process) dialKubeletSocket(ctx context.Context, path string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	_, pid, err := unixdiag.InodeAndPeer(conn.(*net.UnixConn))
	if err == nil && pid != p.PID {
		err = fmt.Errorf("%s is served by another process than the kubelet (pid %d), which is not believed", path, p.PID)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
