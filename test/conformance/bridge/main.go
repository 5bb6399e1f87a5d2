// Command bridge makes a Kubernetes node of a podctl agent, so that Kubernetes' own node
// tests can run against it. hack/conformance starts it.
//
//	API server ── bound pods, ConfigMaps, Secrets, tokens ──► manifests ──► podctl agent
//	           ◄─ Node, statuses, deletions, Events ◄──── control socket ◄──┘
//	           ── logs, exec, attach, port-forward ──► log files, runtime
//
// It decides nothing about pods: what a test sees of a pod is podctl's doing. What only
// a cluster knows it fills in: the tokens of service accounts (as Secrets), the variables
// of services, the handler of a RuntimeClass. It uses the kubelet's own packages for
// that, and the credential of a kubelet, so that it may do no more than one.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	nodelisters "k8s.io/client-go/listers/node/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners/control"
)

type options struct {
	node, address        string
	port                 int
	kubeconfig, clientCA string
	certificate, key     string
	manifests, control   string
	runtime, version     string
}

func main() {
	var o options
	flag.StringVar(&o.node, "node", "", "name of the Node")
	flag.StringVar(&o.address, "address", "", "IP address of the Node")
	flag.IntVar(&o.port, "port", 10250, "port of the kubelet's API")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the node's user")
	flag.StringVar(&o.clientCA, "client-ca", "", "file of the authority of the API server's client certificate")
	flag.StringVar(&o.certificate, "certificate", "", "file of the certificate of the kubelet's API")
	flag.StringVar(&o.key, "key", "", "file of its key")
	flag.StringVar(&o.manifests, "manifests", "", "directory that podctl agent follows")
	flag.StringVar(&o.control, "control", "", "podctl's control socket")
	flag.StringVar(&o.runtime, "r", "", "endpoint of the runtime")
	flag.StringVar(&o.version, "version", "", "version of Kubernetes that the Node reports")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, o); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "bridge:", err)
		os.Exit(1)
	}
}

// bridge is a node of an API server whose pods podctl runs.
type bridge struct {
	options
	api     kubernetes.Interface
	podctl  *control.Client
	runtime *cri.Client
	objects *objects
	log     *slog.Logger

	bound    corelisters.PodLister // the pods of the node
	services corelisters.ServiceLister
	classes  nodelisters.RuntimeClassLister

	pods pods
}

func run(ctx context.Context, o options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 50, 100 // the kubelet's
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	runtime, err := cri.Connect(ctx, cri.Options{Endpoint: cri.Endpoint{Runtime: o.runtime, Image: o.runtime}})
	if err != nil {
		return err
	}
	defer runtime.Close()
	b := &bridge{
		options: o, api: api, runtime: runtime, objects: newObjects(api), log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		podctl: control.Process{Name: "agent", Socket: o.control}.Client(nil),
		pods:   pods{all: map[types.UID]*podState{}},
	}
	wake := b.follow(ctx)
	if err := b.register(ctx); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- b.serve() }()
	go b.keepNode(ctx)
	go b.copyEvents(ctx)
	go b.copyStatuses(ctx)
	go b.syncPods(ctx, wake)
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

// follow watches what the node's pods depend on, and returns a channel that is signalled
// after a pod of the node has changed.
func (b *bridge) follow(ctx context.Context) <-chan struct{} {
	all := informers.NewSharedInformerFactory(b.api, 0)
	b.services, b.classes = all.Core().V1().Services().Lister(), all.Node().V1().RuntimeClasses().Lister()
	own := informers.NewSharedInformerFactoryWithOptions(b.api, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", b.node).String()
	}))
	b.bound = own.Core().V1().Pods().Lister()
	wake := make(chan struct{}, 1)
	signal := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	_, _ = own.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{ // fails once it is stopped
		AddFunc: func(any) { signal() }, UpdateFunc: func(any, any) { signal() }, DeleteFunc: func(any) { signal() },
	})
	all.Core().V1().Services().Informer()
	all.Node().V1().RuntimeClasses().Informer()
	for _, f := range []informers.SharedInformerFactory{all, own} {
		f.Start(ctx.Done())
		f.WaitForCacheSync(ctx.Done())
	}
	return wake
}
