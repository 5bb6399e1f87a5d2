package cmdline

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	names "k8s.io/apimachinery/pkg/util/validation"
)

// ResourceList is a flag that lists amounts of resources: cpu=4,memory=8Gi.
// The zero value is an empty list.
type ResourceList struct{ list v1.ResourceList }

// Set implements cli.Generic: it adds what text lists. A later amount of a
// resource wins.
func (r *ResourceList) Set(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, amount, found := strings.Cut(strings.TrimSpace(pair), "=")
		if !found || amount == "" {
			return fmt.Errorf("%q is not RESOURCE=AMOUNT, as in cpu=4,memory=8Gi", pair)
		}
		if wrong := names.IsQualifiedName(name); len(wrong) > 0 {
			return fmt.Errorf("%q is not a resource: %s", name, wrong[0])
		}
		q, err := resource.ParseQuantity(amount)
		if err != nil || q.Sign() < 0 {
			return fmt.Errorf("%q is not an amount of %s, as in 500m or 8Gi", amount, name)
		}
		if r.list == nil {
			r.list = v1.ResourceList{}
		}
		r.list[v1.ResourceName(name)] = q
	}
	return nil
}

// Resources returns what a ResourceList flag lists, nil if it was not given.
func Resources(c *cli.Context, name string) v1.ResourceList {
	if r, ok := c.Generic(name).(*ResourceList); ok {
		return r.list
	}
	return nil
}

// String implements cli.Generic. It is empty: the list has no default to show.
func (r *ResourceList) String() string { return "" }
