package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/owners/kubelet"
)

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
