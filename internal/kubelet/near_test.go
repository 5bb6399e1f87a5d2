package kubelet

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
)

// A kubelet that was just started, or that has not reached its API server, does
// not name all of its pods.
func TestAnswerOfAKubeletIsCompleteOnceItHasReadItsSources(t *testing.T) {
	named := func(source string) []*v1.Pod {
		return []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{pod.ConfigSourceAnnotation: source}}}}
	}
	for _, c := range []struct {
		name string
		near Near
		pods []*v1.Pod
		want bool
		// kept is the same once its housekeeping has run.
		kept bool
	}{
		{"standalone", Near{Age: time.Hour}, named("file"), true, true},
		{"just started", Near{Age: time.Second}, named("file"), false, true},
		{"before it has read its static pods", Near{Age: time.Hour}, nil, false, true},
		{"without a pod", Near{Age: time.Hour, Follows: true}, nil, false, true},
		{"its API server may not have answered", Near{Age: time.Hour, Follows: true}, named("file"), false, true},
		{"it has", Near{Age: time.Hour, Follows: true}, named("api"), true, true},
		{"of an age that cannot be read", Near{}, named("file"), false, true},
	} {
		if err := c.near.Complete(Working{Housekept: true}, c.pods); (err == nil) != c.kept {
			t.Errorf("%s, its housekeeping has run: %v", c.name, err)
		}
		if err := c.near.Complete(Working{}, c.pods); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
