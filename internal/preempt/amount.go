package preempt

import (
	"encoding/json"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Amount is so much of one resource, as pod.Count counts it: thousandths of
// cpu, bytes of memory and storage, pieces of everything else.
type Amount struct {
	Resource v1.ResourceName
	Count    int64
}

// Quantity is the amount in Kubernetes' notation: "400m", "1Gi".
func (a Amount) Quantity() *resource.Quantity {
	switch {
	case a.Resource == v1.ResourceCPU:
		return resource.NewMilliQuantity(a.Count, resource.DecimalSI)
	case a.Resource == v1.ResourceMemory, a.Resource == v1.ResourceEphemeralStorage, hugePages(a.Resource):
		return resource.NewQuantity(a.Count, resource.BinarySI)
	}
	return resource.NewQuantity(a.Count, resource.DecimalSI)
}

// String is the amount with its resource: "400m cpu".
func (a Amount) String() string { return fmt.Sprintf("%s %s", a.Quantity(), a.Resource) }

// MarshalJSON writes {"resource":"cpu","quantity":"400m"}.
func (a Amount) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Resource v1.ResourceName    `json:"resource"`
		Quantity *resource.Quantity `json:"quantity"`
	}{a.Resource, a.Quantity()})
}

// list formats amounts for output: "400m cpu, 1Gi memory".
func list(amounts []Amount) string {
	words := make([]string, len(amounts))
	for i, a := range amounts {
		words[i] = a.String()
	}
	return strings.Join(words, ", ")
}

// kubeletList writes amounts as the kubelet's errors do.
func kubeletList(amounts []Amount) string {
	var b strings.Builder
	b.WriteByte('[')
	for _, a := range amounts {
		fmt.Fprintf(&b, "(res: %s, q: %d), ", a.Resource, a.Count)
	}
	b.WriteByte(']')
	return b.String()
}

// positive drops the amounts of which nothing is needed.
func positive(amounts []Amount) []Amount {
	var kept []Amount
	for _, a := range amounts {
		if a.Count > 0 {
			kept = append(kept, a)
		}
	}
	return kept
}
