package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/sys/apiget"
)

// Reservation holds what a kubelet's configuration reserves of its machine, and
// how many pods it allows. The zero value reserves nothing and allows no pod.
type Reservation struct {
	MaxPods     int64 `json:"maxPods"`
	PodsPerCore int64 `json:"podsPerCore"`
	// KubeReserved and SystemReserved are amounts of resources.
	KubeReserved   map[v1.ResourceName]resource.Quantity `json:"kubeReserved"`
	SystemReserved map[v1.ResourceName]resource.Quantity `json:"systemReserved"`
	// EvictionHard are thresholds by signal: "100Mi", or "10%" of the capacity.
	EvictionHard map[string]string `json:"evictionHard"`
}

// Reservation reads the kubelet's configuration: its /configz, which only its
// authenticated server has.
func (o Options) Reservation(ctx context.Context) (*Reservation, error) {
	client, err := o.client(o.Address())
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	}
	defer client.CloseIdleConnections()
	r, err := reservationAt(ctx, client, o.Address())
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	}
	return r, nil
}

func reservationAt(ctx context.Context, client *http.Client, url string) (*Reservation, error) {
	var answer struct {
		Config *Reservation `json:"kubeletconfig"`
	}
	address := url + "/configz"
	if err := apiget.Object(ctx, client, address, &answer); err != nil {
		return nil, err
	}
	if answer.Config == nil {
		return nil, errors.New("the answer of /configz has no kubeletconfig")
	}
	return answer.Config, nil
}

// Pods returns the number of pods allowed on a machine with that many CPUs.
func (r *Reservation) Pods(cpus int64) int64 {
	if r.PodsPerCore > 0 {
		return min(r.MaxPods, r.PodsPerCore*cpus)
	}
	return r.MaxPods
}

// Reserved returns the sum of what is reserved for the kubelet and for the system.
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

// Eviction returns the part of a capacity, in bytes, that the hard eviction threshold
// of a signal keeps free: memory.available, nodefs.available. It is 0 without a
// valid threshold (hardEvictionReservation in pkg/kubelet/cm/helpers.go).
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

// overrideReservation applies the flags that set reservations.
func (r *Reservation) overrideReservation(flags map[string]string) error {
	for name, number := range map[string]*int64{"max-pods": &r.MaxPods, "pods-per-core": &r.PodsPerCore} {
		if flags[name] == "" {
			continue
		}
		n, err := strconv.ParseInt(flags[name], 10, 32)
		if err != nil {
			return fmt.Errorf("--%s %q: %w", name, flags[name], err)
		}
		*number = n
	}
	for name, list := range map[string]*map[v1.ResourceName]resource.Quantity{"kube-reserved": &r.KubeReserved, "system-reserved": &r.SystemReserved} {
		if flags[name] == "" {
			continue
		}
		amounts := map[v1.ResourceName]resource.Quantity{}
		for pair := range strings.SplitSeq(flags[name], ",") {
			key, text, _ := strings.Cut(pair, "=")
			q, err := resource.ParseQuantity(text)
			if err != nil {
				return fmt.Errorf("--%s %q: %w", name, flags[name], err)
			}
			amounts[v1.ResourceName(key)] = q
		}
		*list = amounts
	}
	if text := flags["eviction-hard"]; text != "" {
		r.EvictionHard = map[string]string{}
		for pair := range strings.SplitSeq(text, ",") {
			signal, threshold, _ := strings.Cut(pair, "<")
			r.EvictionHard[signal] = threshold
		}
	}
	return nil
}
