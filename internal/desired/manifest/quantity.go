package manifest

import (
	"reflect"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

var quantityType = reflect.TypeFor[resource.Quantity]()

// maxQuantity bounds the JSON of a quantity, in bytes.
const maxQuantity = 128

// hugeExponent is a decimal exponent of more than three digits, leading zeros apart.
var hugeExponent = regexp.MustCompile(`[eE][-+]?0*[1-9][0-9]{3}`)

// isBoundedQuantity reports whether a quantity can be parsed in little time and memory.
// The parser of Kubernetes computes the power of ten of an exponent, and rounds all
// digits: 1e999999999 takes it hours.
func isBoundedQuantity(data []byte) bool {
	return len(data) <= maxQuantity && !hugeExponent.Match(data)
}
