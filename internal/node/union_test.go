package node

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func wanted(uid, name string) Desired {
	return Desired{Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Name: name, Namespace: "default"}}}
}

func TestUnionIsUnreadyUntilAllSourcesAreRead(t *testing.T) {
	d := newDesired([]string{"a", "b"})
	d.set("a", []Desired{wanted("u1", "web")}, nil, false)
	if _, ready := d.union(); ready {
		t.Error("ready although b was never read")
	}
	d.set("b", nil, nil, false)
	pods, ready := d.union()
	if !ready || len(pods) != 1 {
		t.Errorf("after an empty read of b: %v %v", pods, ready)
	}
	d.set("b", []Desired{wanted("u2", "web"), wanted("u3", "db")}, nil, false)
	pods, _ = d.union()
	if _, taken := pods["u2"]; taken || len(pods) != 2 {
		t.Errorf("two pods of one full name: %v", pods)
	}
}
