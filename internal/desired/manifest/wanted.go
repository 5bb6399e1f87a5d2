package manifest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// What a message says that a field wants.
const (
	wantedMapping  = "a mapping"
	wantedList     = "a list"
	wantedBoolean  = "a boolean"
	wantedInteger  = "a whole number"
	wantedQuantity = "a quantity such as 100m or 64Mi"
	wantedIntStr   = "a number or a name"
	wantedTime     = "a time such as 2006-01-02T15:04:05Z"
)

// isScalarWord reports whether a field wants one word, so that a message may quote what it got.
func isScalarWord(wanted string) bool {
	return slices.Contains([]string{wantedBoolean, wantedInteger, wantedQuantity, wantedIntStr, wantedTime}, wanted)
}

// wantedOf says what a type that decodes itself is written like.
func wantedOf(t reflect.Type) string {
	switch t {
	case quantityType:
		return wantedQuantity
	case reflect.TypeFor[intstr.IntOrString]():
		return wantedIntStr
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return wantedTime
	}
	return "another value"
}

// valueHint says what to write instead of a text in a field that wants something else, "" if
// that is not known.
func valueHint(field, text, wanted string) string {
	if hint := templateHint(text); hint != "" {
		return hint
	}
	switch wanted {
	case wantedQuantity:
		return quantityHint(text)
	case wantedBoolean:
		switch strings.ToLower(text) {
		case "true", "yes", "on", "1":
			return "write true, without quotes"
		case "false", "no", "off", "0":
			return "write false, without quotes"
		}
	case wantedInteger:
		return integerHint(field, text)
	}
	return ""
}

var (
	published = lazyregexp.New(`^(?:[\d.]+:)?(\d+):(\d+)(?:/\w+)?$`)
	protocol  = lazyregexp.New(`^(\d+)/(?i:(tcp|udp|sctp))$`)
)

// integerHint is valueHint for a whole number: one in quotes, a duration, a port as containers
// are told of it, or the name of a user.
func integerHint(field, text string) string {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return "write " + text + " without quotes"
	}
	lower := strings.ToLower(field)
	switch {
	case strings.HasSuffix(lower, "seconds"):
		if d, ok := durationOf(text); ok {
			return fmt.Sprintf("write %d: the field has seconds, and whole ones", int64(math.Ceil(d.Seconds())))
		}
	case strings.HasSuffix(lower, "port"):
		if m := published().FindStringSubmatch(text); m != nil {
			return fmt.Sprintf("write containerPort: %s and hostPort: %s", m[2], m[1])
		} else if m := protocol().FindStringSubmatch(text); m != nil {
			return fmt.Sprintf("write %s, and protocol: %s beside it", m[1], strings.ToUpper(m[2]))
		}
	case strings.HasSuffix(lower, "user"), strings.HasSuffix(lower, "group"):
		return "write the number, which id prints for the name"
	}
	return ""
}

var durationUnit = lazyregexp.New(`^([0-9.,]+) ?(ms|s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hour|hours|d|day|days)$`)

// durationOf reads a duration as people write it: 30s, 1h30m, 5 min, 2d.
func durationOf(text string) (time.Duration, bool) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, d >= 0
	}
	m := durationUnit().FindStringSubmatch(strings.ToLower(text))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.Replace(m[1], ",", ".", 1), 64)
	unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[m[2][0]]
	if m[2] == "ms" {
		unit = time.Millisecond
	}
	d := n * float64(unit)
	return time.Duration(d), err == nil && d < math.MaxInt64
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// quantityWord is a number, with a comma or a point, and a unit.
var quantityWord = lazyregexp.New(`^([+-]?[0-9]+(?:[.,][0-9]+)?|[.,][0-9]+) *([a-z]*)$`)

// quantityHint says how a quantity is written that people write in another way: 128MB, 1 GB,
// 512 Mi, 0,5, 2 cores.
func quantityHint(text string) string {
	m := quantityWord().FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return ""
	}
	number, unit := strings.Replace(m[1], ",", ".", 1), m[2]
	written := ""
	prefix := func(of string) string { // k is small, and Ki is not
		if of == "k" {
			return of
		}
		return strings.ToUpper(of)
	}
	switch bare := strings.TrimSuffix(strings.TrimSuffix(unit, "b"), "i"); {
	case slices.Contains([]string{"", "b", "byte", "bytes", "c", "core", "cores", "cpu", "cpus", "vcpu", "vcpus"}, unit):
		written = number
	case slices.Contains([]string{"millicore", "millicores", "millicpu", "mcpu"}, unit), unit == "m":
		written = number + "m"
	case len(bare) != 1 || !strings.Contains("kmgtpe", bare):
		return ""
	case strings.Contains(unit, "i"):
		written = number + strings.ToUpper(bare) + "i"
	default:
		written = fmt.Sprintf("%s%s, or %s%si for powers of 1024", number, prefix(bare), number, strings.ToUpper(bare))
	}
	if first, _, _ := strings.Cut(written, ","); !isQuantity(first) {
		return ""
	}
	return "write " + written
}

func isQuantity(text string) bool {
	_, err := resource.ParseQuantity(text)
	return err == nil && isBoundedQuantity([]byte(text))
}

// maxQuantity bounds the JSON of a quantity, in bytes.
const maxQuantity = 128

// hugeExponent is a decimal exponent of more than three digits, leading zeros apart.
var hugeExponent = lazyregexp.New(`[eE][-+]?0*[1-9][0-9]{3}`)

// isBoundedQuantity reports whether a quantity can be parsed in little time and memory.
// The parser of Kubernetes computes the power of ten of an exponent, and rounds all
// digits: 1e999999999 takes it hours.
func isBoundedQuantity(data []byte) bool {
	return len(data) <= maxQuantity && !hugeExponent().Match(data)
}
