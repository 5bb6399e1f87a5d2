package cri

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"pgregory.net/rapid"

	"github.com/podctl/podctl/internal/pod"
)

func encoded(t interface{ Fatal(...any) }, m proto.Message) []byte {
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Whatever the lists before said, a list is understood as if it were the
// first; and its version is another one exactly if it says something else.
func TestAListIsUnderstoodAsIfItWereTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		es := newEntries(toContainerEntry)
		var before map[string]string
		var version uint64
		for range rapid.IntRange(1, 8).Draw(t, "lists") {
			answer := &runtimeapi.ListContainersResponse{}
			said := map[string]string{}
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, 5), 0, 8).Draw(t, "containers") {
				c := &runtimeapi.Container{
					Id: fmt.Sprint(i), State: runtimeapi.ContainerState(rapid.IntRange(0, 2).Draw(t, "state")),
					Metadata: &runtimeapi.ContainerMetadata{Name: "c"},
					Labels:   map[string]string{pod.UIDLabel: fmt.Sprint(i % 2), "a": "b", "c": "d", "e": "f"},
				}
				answer.Containers = append(answer.Containers, c)
				said[fmt.Sprint(c.Id, c.State)] = ""
			}
			got, v, err := take(es, encoded(t, answer))
			if err != nil {
				t.Fatal(err)
			}
			want := convertAll(answer.Containers, toContainerEntry)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(containerEntry{}, identity{})); len(want) > 0 && diff != "" {
				t.Fatalf("(-first +got)\n%s", diff)
			}
			if same := cmp.Equal(before, said); before != nil && same != (v == version) {
				t.Fatalf("versions %d and %d, same %v: %v, %v", version, v, same, before, said)
			}
			before, version = said, v
			if len(es.known) != len(said) {
				t.Fatalf("%d entries are kept of %d", len(es.known), len(said))
			}
		}
	})
}

// Labels are encoded in another order each time.
func TestAnEntryThatSaysTheSameIsConvertedOnce(t *testing.T) {
	es := newEntries(toSandboxEntry)
	list := func(states ...runtimeapi.PodSandboxState) []sandboxEntry {
		answer := &runtimeapi.ListPodSandboxResponse{}
		for i, s := range states {
			answer.Items = append(answer.Items, &runtimeapi.PodSandbox{
				Id: fmt.Sprint(i), State: s, Labels: map[string]string{"a": "b", "c": "d", "e": "f", "g": "h"},
			})
		}
		all, _, err := take(es, encoded(t, answer))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	ready, not := runtimeapi.PodSandboxState_SANDBOX_READY, runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	first, second := list(ready, ready), list(ready, not)
	if first[0].Sandbox != second[0].Sandbox {
		t.Error("what did not change was converted again")
	}
	if second[1].State != pod.Exited {
		t.Error("what changed was not converted again")
	}
}

// FuzzTake: no answer makes take panic, and one that it refuses leaves the
// next one intact.
func FuzzTake(f *testing.F) {
	good, err := proto.Marshal(&runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{{Id: "a"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(append([]byte{0x10, 0x01}, good...)) // a field that is not known
	f.Add(good[:len(good)-1])
	f.Fuzz(func(t *testing.T, raw []byte) {
		es := newEntries(toSandboxEntry)
		got, _, err := take(es, raw)
		var want runtimeapi.ListPodSandboxResponse
		if werr := proto.Unmarshal(raw, &want); err == nil && werr == nil && len(got) != len(want.Items) {
			t.Errorf("%d entries, want %d", len(got), len(want.Items))
		}
		if after, _, err := take(es, good); err != nil || len(after) != 1 || after[0].ID != "a" {
			t.Errorf("afterwards: %v, %v", after, err)
		}
	})
}
