package pods

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/pods/view"
)

// FuzzListsOfAHostileRuntime: names, ids and states that a runtime lists never
// panic a list, and never reach the terminal as control characters.
func FuzzListsOfAHostileRuntime(f *testing.F) {
	f.Add("web", "default", "uid", "abc", "c", 1)
	f.Add("a\nb", "de\nfault", "u\x1b[2Jid", "\n", "\x00", 2)
	f.Add("", "", "", "", "", 0)
	f.Add("\u009b", "\xff", "\u202e", "🙂", "\t", 3)
	f.Fuzz(func(t *testing.T, name, namespace, uid, id, container string, state int) {
		states := []pod.State{pod.Running, pod.Exited, pod.Unknown, pod.State(99)}
		s := states[max(0, state)%len(states)]
		p := &pod.Pod{UID: types.UID(uid), Namespace: namespace, Name: name,
			Sandboxes:  []*pod.Sandbox{{ID: id, State: s, Owner: container, Labels: map[string]string{name: uid}}},
			Containers: []*pod.Container{{ID: id, Name: container, State: s, Image: name}},
		}
		answers := &owners.Answers{}
		all := view.Merge([]*pod.Pod{p}, answers)
		found := orphan.Classify(orphan.Facts{Answers: answers, Pods: all})
		now := time.Unix(1e9, 0)
		lists := map[string]output.List{
			"pods": podListing(all, nil, now, state%2 == 0), "orphans": orphanListing(found.Orphans, now),
			"terminating": {Header: []string{"POD"}, Items: []output.Item{terminatingItem(&view.Pod{
				Metadata: view.Metadata{Namespace: namespace, Name: name, UID: types.UID(uid)},
			}, now)}},
		}
		for command, l := range lists {
			for _, format := range []string{"", "wide", "json", "yaml", "name", "custom-columns=N:.metadata.name"} {
				var out bytes.Buffer
				if err := mustFormat(t, format).Print(output.NewWriter(&out), l); err != nil {
					t.Errorf("%s -o %s: %v", command, format, err)
				}
				if format != "yaml" && strings.ContainsFunc(out.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
					t.Errorf("%s -o %s prints %q", command, format, out.String())
				}
			}
		}
	})
}
