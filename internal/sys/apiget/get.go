package apiget

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/safeurl"
)

// Timeout is the time that a server may take for an answer.
const Timeout = 10 * time.Second

// Bounds of an answer: its size in bytes, and because a few bytes of it may take a
// kilobyte once they are decoded, its values and the pods of a list.
const (
	MaxSize   = 256 << 20
	maxValues = 1_000_000
	MaxPods   = 10_000
)

// JSON is the media type of complete objects, Metadata that of a list without specs and
// statuses.
const (
	JSON     = "application/json"
	Metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Object reads a JSON answer into a value.
func Object(ctx context.Context, client *http.Client, address string, into any) error {
	return As(ctx, client, address, JSON, into)
}

// As reads an answer of the media type, which must be JSON or a form of it, into a value.
func As(ctx context.Context, client *http.Client, address, mediaType string, into any) error {
	return get(ctx, client, address, mediaType, func(body io.Reader) error {
		return json.NewDecoder(bounded.JSON(body, maxValues)).Decode(into)
	})
}

// Text passes a text answer to read.
func Text(ctx context.Context, client *http.Client, address string, read func(body io.Reader) error) error {
	return get(ctx, client, address, "text/plain", read)
}

func get(ctx context.Context, client *http.Client, address, accept string, read func(body io.Reader) error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return safeurl.Cause(err)
	}
	r.Header.Set("Accept", accept)
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("%s: %w", safeurl.Text(address), safeurl.Cause(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &StatusError{URL: safeurl.Text(address), Code: resp.StatusCode}
	}
	if err := read(io.LimitReader(resp.Body, MaxSize)); err != nil {
		return fmt.Errorf("%s: %w", safeurl.Text(address), err)
	}
	return nil
}

// PodList reads a v1.PodList. Any other JSON object is an error.
func PodList(ctx context.Context, client *http.Client, address string) ([]*v1.Pod, error) {
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := Object(ctx, client, address, &list); err != nil {
		return nil, err
	}
	if list.Kind != "PodList" {
		return nil, fmt.Errorf("%s: the answer is a %q, not a PodList", safeurl.Text(address), list.Kind)
	}
	if len(list.Items) > MaxPods {
		return nil, fmt.Errorf("%s: more than %d pods", safeurl.Text(address), MaxPods)
	}
	pods := make([]*v1.Pod, len(list.Items))
	for i, item := range list.Items {
		pods[i] = &v1.Pod{}
		if err := json.Unmarshal(item, pods[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", safeurl.Text(address), err)
		}
	}
	return pods, nil
}

// StatusError is an answer with a status other than 200.
type StatusError struct {
	URL  string
	Code int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// Hint names the permission that is missing; "" for other statuses.
func (e *StatusError) Hint() string {
	switch e.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "pass a token or a client certificate with the permission to read pods (verb get of nodes/pods; before Kubernetes 1.33, of nodes/proxy)"
	default:
		return ""
	}
}
