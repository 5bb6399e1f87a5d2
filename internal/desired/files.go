package desired

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/manifest"
)

// Files are the pods of manifests, directories or URLs that podctl reads.
func Files(ctx context.Context, client *http.Client, paths ...string) Answer {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = manifest.SourceName(path)
	}
	a := Answer{Source: strings.Join(names, ", "), MadeUp: map[types.UID]bool{}}
	set, err := manifest.Load(ctx, paths, manifest.LoadOptions{HTTP: client, Elsewhere: true})
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

// Static are the pods that a kubelet of node nodeName runs from its static pod
// directory. Their names end with the node's; their UIDs are the kubelet's
// secret, so that they are left out. The files are read as loosely as the
// kubelet does (pkg/kubelet/config/file.go, common.go): hidden ones are
// skipped, and one that holds no pod makes the whole answer fail, since what
// it desires is not known.
func Static(dir, nodeName string) Answer {
	a := Answer{Source: dir, ByName: true}
	entries, err := os.ReadDir(dir)
	if err != nil {
		a.Err = fmt.Errorf("read static pods: %w", err)
		return a
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() {
			continue
		}
		p, err := staticPod(filepath.Join(dir, e.Name()))
		switch {
		case err != nil:
			return Answer{Source: dir, ByName: true, Err: fmt.Errorf("read static pods: %w", err)}
		case p != nil:
			p.Name += "-" + strings.ToLower(nodeName)
			p.UID = types.UID("")
			a.Pods = append(a.Pods, p)
		}
	}
	return a
}

// staticPod is the pod of one file, nil for what is no regular file.
func staticPod(path string) (*v1.Pod, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p v1.Pod
	if err := yaml.Unmarshal(content, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if p.Kind != "Pod" || p.Name == "" {
		return nil, fmt.Errorf("%s: %q is not a pod with a name", path, p.Kind)
	}
	if p.Namespace == "" {
		p.Namespace = v1.NamespaceDefault
	}
	return &p, nil
}
