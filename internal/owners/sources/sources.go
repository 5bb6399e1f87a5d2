package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/owners/kubelet"
)

// Sources are the kubelet and the cluster that the user named. The zero value names
// neither.
type Sources struct {
	Kubelet kubelet.Options
	// AskKubelet: the user named a kubelet.
	AskKubelet bool
	// Kubeconfig names the cluster; Node is the node in it, "" for that of the kubelet or
	// the host.
	Kubeconfig, Node string
}

// Cluster opens the cluster that the user named; nil if there is none.
func (s Sources) Cluster() (*Cluster, error) {
	if s.Kubeconfig == "" {
		return nil, nil
	}
	return OpenCluster(s.Kubeconfig)
}

// NodeName returns the name of this machine's node: the one that the user named, else
// that of the kubelet that uses the runtime, which may be nil.
func (s Sources) NodeName(p *kubelet.Process) (string, error) {
	if s.Node != "" {
		return s.Node, nil
	}
	return p.Node()
}

// Answers asks the kubelet that the user named, and the cluster, which may be nil.
func (s Sources) Answers(ctx context.Context, cluster *Cluster, node string) []Answer {
	var all []Answer
	if s.AskKubelet {
		all = append(all, Kubelet(s.Kubelet.Ask(ctx, nil, kubelet.Question{})))
	}
	if cluster != nil {
		all = append(all, cluster.Pods(ctx, node))
	}
	return all
}

// Answer is the answer of one source: the pods that it desires on this node.
type Answer struct {
	// Source is the name of the source: "kubelet http://127.0.0.1:10255".
	Source string
	// Pods are all desired pods, in the order of the source.
	Pods []*v1.Pod
	// ByName: the pods' UIDs are not those in the runtime; only full names can be
	// compared.
	ByName bool
	// MadeUp are UIDs that podctl generated for manifests without one: only pods
	// that podctl created have them.
	MadeUp map[types.UID]bool
	// Err is why the source could not be read; Pods is then empty.
	Err error
}

// Kubelet returns a kubelet's answer as that of a source. It does not say whether it is
// complete.
func Kubelet(a kubelet.Answer) Answer {
	return Answer{Source: a.Source, Pods: a.Pods, Err: a.Err}
}

// Files returns the pods of manifests, directories or URLs.
func Files(ctx context.Context, client *http.Client, paths ...string) Answer {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = manifest.SourceName(path)
	}
	a := Answer{Source: strings.Join(names, ", "), MadeUp: map[types.UID]bool{}}
	set, err := manifest.Load(ctx, paths, manifest.LoadOptions{HTTP: client, ForCluster: true})
	if err != nil {
		a.Err = fmt.Errorf("read desired pods: %w", err)
		return a
	}
	for _, p := range set.Pods {
		a.Pods = append(a.Pods, p.Pod)
		var written metav1.PartialObjectMetadata
		if err := json.Unmarshal(p.Document, &written); err != nil || written.UID == "" {
			a.MadeUp[p.UID] = true
		}
	}
	return a
}

// Static returns the pods that a kubelet of node nodeName runs from its static
// pod directory, as kubelet.ReadStaticPods reads them.
func Static(dir, nodeName string) Answer {
	a := Answer{Source: dir, ByName: true}
	a.Pods, a.Err = kubelet.ReadStaticPods(dir, nodeName)
	return a
}
