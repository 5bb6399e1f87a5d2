package cri

import (
	"context"
	"slices"
	"strconv"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Version is what the runtime calls itself.
type Version struct {
	Name       string // "containerd", "cri-o"
	Version    string // "2.4.2"
	APIVersion string // "v1"
}

// Version asks the runtime for its name and version.
func (c *Client) Version(ctx context.Context) (Version, error) {
	r, err := c.runtime.Version(ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		return Version{}, err
	}
	return Version{Name: shortened(r.RuntimeName, maxName), Version: shortened(r.RuntimeVersion, maxName), APIVersion: shortened(r.RuntimeApiVersion, maxName)}, nil
}

// maxName and maxText bound a name and an error text of the runtime's, in bytes.
const maxName, maxText = 256, 4096

// shortened returns a text of the runtime's without its middle if it has more than limit bytes: the
// cause is at its end.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit*3/4]+" … "+text[len(text)-limit/4:], "")
}

// Condition is one of the runtime's statements about itself.
type Condition struct {
	Type    string
	OK      bool
	Reason  string
	Message string
}

// Handler is a runtime handler that a sandbox may ask for.
type Handler struct {
	Name                    string // "" is the default handler
	RecursiveReadOnlyMounts bool
	UserNamespaces          bool
}

// RuntimeStatus is what the runtime says about its own readiness.
type RuntimeStatus struct {
	// Runtime and Network are the conditions RuntimeReady and NetworkReady; a
	// runtime that does not mention one is not ready in it.
	Runtime, Network Condition
	// Others are the runtime's own further conditions.
	Others []Condition
	// Handlers are sorted by name; none where the runtime does not say.
	Handlers []Handler
	// SupplementalGroupsPolicy reports whether the runtime honours the field of
	// that name.
	SupplementalGroupsPolicy bool
}

// Status asks the runtime whether it and its network are ready
// (pkg/kubelet/kuberuntime, Status).
func (c *Client) Status(ctx context.Context) (RuntimeStatus, error) {
	r, err := c.runtime.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		return RuntimeStatus{}, err
	}
	return runtimeStatus(r), nil
}

func runtimeStatus(r *runtimeapi.StatusResponse) RuntimeStatus {
	s := RuntimeStatus{
		Runtime:                  missing(runtimeapi.RuntimeReady),
		Network:                  missing(runtimeapi.NetworkReady),
		SupplementalGroupsPolicy: r.GetFeatures().GetSupplementalGroupsPolicy(),
	}
	for _, c := range r.GetStatus().GetConditions() {
		cond := Condition{Type: c.Type, OK: c.Status, Reason: c.Reason, Message: c.Message}
		switch c.Type {
		case runtimeapi.RuntimeReady:
			s.Runtime = cond
		case runtimeapi.NetworkReady:
			s.Network = cond
		default:
			s.Others = append(s.Others, cond)
		}
	}
	for _, h := range r.GetRuntimeHandlers() {
		s.Handlers = append(s.Handlers, Handler{
			Name:                    h.Name,
			RecursiveReadOnlyMounts: h.GetFeatures().GetRecursiveReadOnlyMounts(),
			UserNamespaces:          h.GetFeatures().GetUserNamespaces(),
		})
	}
	// CRI-O lists them in any order.
	slices.SortFunc(s.Handlers, func(a, b Handler) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func missing(condition string) Condition {
	return Condition{Type: condition, Reason: "Missing", Message: "the runtime does not report " + condition}
}

// BroadcastsEvents reports whether the runtime is known to give each of its
// events to every subscriber. containerd before 2.0 is not one of these: there
// a second subscriber takes the first one's events.
func (v Version) BroadcastsEvents() bool {
	if v.Name != "containerd" {
		return true
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(v.Version, "v"), ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 2
}

// String is "containerd 2.4.2".
func (v Version) String() string { return strings.TrimSpace(v.Name + " " + v.Version) }

// imageVolumesSince is the release of each runtime that can mount images; one
// that is not here is taken to be able to.
var imageVolumesSince = map[string][2]int{"containerd": {2, 1}, "cri-o": {1, 31}}

// ImageVolumes reports whether the runtime is known to mount images as volumes.
// It has to be asked by version: the CRI does not tell, and an older runtime
// reads such a mount as one of an empty host path.
func (v Version) ImageVolumes() bool { return v.since(imageVolumesSince) }

// since reports whether the runtime is of the release that is given for it or a
// later one, or none is given.
func (v Version) since(releases map[string][2]int) bool {
	first, ok := releases[v.Name]
	if !ok {
		return true
	}
	major, minor, ok := v.release()
	return ok && (major > first[0] || major == first[0] && minor >= first[1])
}

// release is the first two numbers of the version.
func (v Version) release() (major, minor int, ok bool) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(v.Version, "v"), ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(second)
	return major, minor, err == nil
}

// stopSignalsSince is the release of each runtime from which on it is known to
// heed a container's stop signal; one that is not here is taken to.
var stopSignalsSince = map[string][2]int{"containerd": {2, 4}, "cri-o": {1, 34}}

// StopSignals reports whether the runtime is known to stop a container with the
// signal that its config names. An older one reads past it without a word.
func (v Version) StopSignals() bool { return v.since(stopSignalsSince) }
