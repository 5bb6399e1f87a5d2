package desired

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Reservation is what a kubelet keeps back of its machine, and how many pods it
// runs, by its configuration. The zero value is a kubelet that keeps nothing
// back and runs no pod.
type Reservation struct {
	MaxPods     int64 `json:"maxPods"`
	PodsPerCore int64 `json:"podsPerCore"`
	// KubeReserved and SystemReserved are amounts of resources.
	KubeReserved   map[v1.ResourceName]resource.Quantity `json:"kubeReserved"`
	SystemReserved map[v1.ResourceName]resource.Quantity `json:"systemReserved"`
	// EvictionHard are thresholds by signal: "100Mi", or "10%" of the capacity.
	EvictionHard map[string]string `json:"evictionHard"`
}

// KubeletReservation reads a kubelet's configuration: its /configz, which it
// has on its authenticated port only.
func KubeletReservation(ctx context.Context, o KubeletOptions) (*Reservation, error) {
	client, err := o.client(o.URL)
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	}
	defer client.CloseIdleConnections()
	var answer struct {
		Config *Reservation `json:"kubeletconfig"`
	}
	address := strings.TrimSuffix(o.URL, "/") + "/configz"
	if err := get(ctx, client, address, &answer); err != nil {
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	}
	if answer.Config == nil {
		return nil, fmt.Errorf("ask the kubelet: %s: the answer has no kubeletconfig", address)
	}
	return answer.Config, nil
}

// Local tells whether the kubelet is on this machine.
func (o KubeletOptions) Local() bool {
	u, err := url.Parse(o.URL)
	return err == nil && loopback(u.Hostname())
}

// Pods is how many pods run on so many cpus.
func (r *Reservation) Pods(cpus int64) int64 {
	if r.PodsPerCore > 0 {
		return min(r.MaxPods, r.PodsPerCore*cpus)
	}
	return r.MaxPods
}

// Reserved is what goes off the capacity for the kubelet and the system.
func (r *Reservation) Reserved() v1.ResourceList {
	list := v1.ResourceList{}
	for _, reserved := range [...]map[v1.ResourceName]resource.Quantity{r.KubeReserved, r.SystemReserved} {
		for name, q := range reserved {
			sum := list[name]
			sum.Add(q)
			list[name] = sum
		}
	}
	return list
}

// Eviction is how much of a capacity, in bytes, the threshold of the signal
// keeps free: memory.available, nodefs.available. 0 without one, or one that
// cannot be read (hardEvictionReservation in pkg/kubelet/cm/helpers.go).
func (r *Reservation) Eviction(signal string, capacity int64) int64 {
	text := r.EvictionHard[signal]
	if share, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.ParseFloat(share, 32)
		if err != nil {
			return 0
		}
		return int64(float64(capacity) * percent / 100)
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return q.Value()
}
