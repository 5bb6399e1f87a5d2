package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podctl/podctl/internal/fleet"
	"github.com/podctl/podctl/internal/sys/apiget"
)

const (
	// pageSize is the number of objects in one answer.
	pageSize = 500
	// maxObjects bounds a list: four times the nodes that Kubernetes supports.
	maxObjects = 20000
	// maxAttempts is how often a list is begun whose next page has expired.
	maxAttempts = 3
)

// page is one answer of a list.
type page[T any] struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []T `json:"items"`
}

// Nodes returns the names of the nodes that a label selector selects, all if it is "".
func (c *Client) Nodes(ctx context.Context, selector string) ([]string, error) {
	type node struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	query := url.Values{}
	if selector != "" {
		query.Set("labelSelector", selector)
	}
	items, err := withTimeout(ctx, func() ([]node, error) {
		return list[node](ctx, c, c.base.JoinPath("api/v1/nodes"), query, apiget.Metadata)
	})
	if err != nil {
		return nil, answerError("list nodes", err)
	}
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.Metadata.Name
		if !isName(names[i]) {
			return nil, answerError("list nodes", invalidName("node", names[i]))
		}
	}
	return names, nil
}

// InspectorQuery selects inspector pods.
type InspectorQuery struct {
	Namespace string
	// Selector selects by labels; Node is the node they are on, "" for all.
	Selector, Node string
	// Container is the one that runs commands.
	Container string
}

// Inspectors returns the inspector pods.
func (c *Client) Inspectors(ctx context.Context, q InspectorQuery) ([]fleet.Inspector, error) {
	query := url.Values{"labelSelector": {q.Selector}}
	if q.Node != "" {
		query.Set("fieldSelector", "spec.nodeName="+q.Node)
	}
	items, err := withTimeout(ctx, func() ([]inspectorPod, error) {
		return list[inspectorPod](ctx, c, c.base.JoinPath("api/v1/namespaces", q.Namespace, "pods"), query, apiget.JSON)
	})
	if err != nil {
		return nil, answerError("list inspector pods", err)
	}
	var pods []fleet.Inspector
	for _, item := range items {
		if item.Spec.NodeName == "" { // not scheduled
			continue
		}
		if !isName(item.Metadata.Name) {
			return nil, answerError("list inspector pods", invalidName("pod", item.Metadata.Name))
		}
		pods = append(pods, fleet.Inspector{
			Name: item.Metadata.Name, Node: item.Spec.NodeName, Ready: item.ready(q.Container), Created: item.Metadata.Created,
		})
	}
	return pods, nil
}

// inspectorPod is what is read of a pod.
type inspectorPod struct {
	Metadata struct {
		Name    string     `json:"name"`
		Created time.Time  `json:"creationTimestamp"`
		Deleted *time.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Containers []struct {
			Name  string `json:"name"`
			State struct {
				Running *struct{} `json:"running"`
			} `json:"state"`
		} `json:"containerStatuses"`
	} `json:"status"`
}

// ready reports whether a command can be run in the container. The pod's condition Ready
// is not asked for: an inspector says by it that the runtime hangs, and can tell why.
func (p *inspectorPod) ready(container string) bool {
	if p.Metadata.Deleted != nil {
		return false
	}
	for _, c := range p.Status.Containers {
		if c.Name == container {
			return c.State.Running != nil
		}
	}
	return false
}

// list reads all pages of a list. A list whose next page has expired is begun again.
func list[T any](ctx context.Context, c *Client, address *url.URL, query url.Values, mediaType string) ([]T, error) {
	for attempt := 1; ; attempt++ {
		all, err := readPages[T](ctx, c, address, query, mediaType)
		var status *apiget.StatusError
		if attempt < maxAttempts && errors.As(err, &status) && status.Code == http.StatusGone {
			continue
		}
		return all, err
	}
}

func readPages[T any](ctx context.Context, c *Client, address *url.URL, query url.Values, mediaType string) ([]T, error) {
	var all []T
	query.Set("limit", strconv.Itoa(pageSize))
	query.Del("continue")
	for {
		at := *address
		at.RawQuery = query.Encode()
		var p page[T]
		if err := apiget.As(ctx, c.http, at.String(), mediaType, &p); err != nil {
			return nil, err
		}
		all = append(all, p.Items...)
		switch {
		case p.Metadata.Continue == "":
			return all, nil
		case len(all) >= maxObjects || len(p.Items) == 0:
			return nil, fmt.Errorf("more than %d objects, or pages without an end", maxObjects)
		}
		query.Set("continue", p.Metadata.Continue)
	}
}

// isName reports whether a name can be that of a node or pod: anything else would change
// the path of a request.
func isName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }
