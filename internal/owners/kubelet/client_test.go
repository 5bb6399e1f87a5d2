package kubelet

import (
	"strings"
	"testing"
)

// A user's name may be a token, and a URL that cannot be parsed may have its
// password anywhere.
func TestErrorsHideUserOfURL(t *testing.T) {
	for _, url := range []string{
		"https://admin:hunter2@10.0.0.1:1025O",
		"https://admin:hunter2/x@10.0.0.1:10250",
		"https:admin:hunter2@10.0.0.1:10250",
		"admin:hunter2@10.0.0.1:10250",
		"ftp://admin:hunter2@10.0.0.1:10250",
		"http://admin:hunter2@127.0.0.1:1",
		"http://admin@127.0.0.1:1/?token=hunter2",
	} {
		o := Options{URL: url}
		pods := o.Ask(t.Context(), nil, Question{}).Err
		_, reservation := o.Reservation(t.Context())
		for _, err := range []error{pods, reservation} {
			if err == nil || strings.Contains(err.Error(), "admin") || strings.Contains(err.Error(), "hunter") {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
}
