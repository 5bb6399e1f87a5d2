package render

import (
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestLogDirectoryPath(t *testing.T) {
	long := strings.Repeat("x", 300)
	n := Node{LogDir: "/logs"}
	directory := func(namespace, name, uid string) string {
		return n.LogDirectory(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}})
	}
	if got := directory("default", "web", "u1"); got != "/logs/default_web_u1" {
		t.Errorf("of a pod: %s", got)
	}
	if got := directory("default", long[:253], "u1"); len(filepath.Base(got)) != 255 || !strings.HasSuffix(got, "_u1") {
		t.Errorf("of a pod with a long name: %s", got)
	}
	seen := map[string]bool{}
	for _, of := range [][3]string{
		{"../../home", "web", "u1"},
		{"default", "web", "u1/../../../home/me"},
		{"default", "web", long},
		{"default", "web", long + "y"},
		{long, "web", "u1"},
	} {
		got := directory(of[0], of[1], of[2])
		if filepath.Dir(got) != "/logs" || len(filepath.Base(got)) > 255 || seen[got] {
			t.Errorf("%.30s: %s", of, got)
		}
		seen[got] = true
	}
}
