package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podctl/podctl/internal/desired/manifest"
)

// words parses a file in which each word is a pod; "bad" makes it invalid.
func words(name string, data []byte) (*manifest.Set, error) {
	set := &manifest.Set{}
	for word := range strings.FieldsSeq(string(data)) {
		if word == "bad" {
			return set, manifest.Problems{{File: name, Line: 1, Message: "bad"}}
		}
		short, _, _ := strings.Cut(word, "-")
		set.Pods = append(set.Pods, &manifest.Pod{File: name, Line: 1, Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: short, UID: types.UID(word)}}})
	}
	return set, notEmpty(name, set)
}

func names(s State, had map[string]string) []string {
	pods, _ := s.union(had, nil)
	var all []string
	for _, p := range pods {
		all = append(all, string(p.UID))
	}
	slices.Sort(all)
	return all
}

func files(pairs ...string) []File {
	var all []File
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, File{Name: pairs[i], Data: []byte(pairs[i+1])})
	}
	return all
}

func TestStateAfterRead(t *testing.T) {
	here, elsewhere, mounted := Identity{1, 1}, Identity{1, 2}, Identity{2, 1}
	for _, c := range []struct {
		name    string
		reads   []Read
		want    string
		notices []string // of the last read
		partial bool
	}{
		{"a file that is removed has no pods", []Read{{Identity: here, Files: files("a", "x", "b", "y")}, {Identity: here, Files: files("b", "y")}}, "y", nil, false},
		{"the last file may go", []Read{{Identity: here, Files: files("a", "x")}, {Identity: here}}, "", nil, false},
		{"an invalid file keeps its pods", []Read{{Identity: here, Files: files("a", "x")}, {Identity: here, Files: files("a", "bad")}}, "x", []string{"failed a:1: bad"}, false},
		{"what is wrong is said once", []Read{{Files: files("a", "x")}, {Files: files("a", "bad")}, {Files: files("a", "bad")}}, "x", nil, false},
		{"another change with the same fault is not said again", []Read{{Files: files("a", "bad")}, {Files: files("a", "bad z")}}, "", nil, true},
		{"valid again", []Read{{Files: files("a", "bad")}, {Files: files("a", "x")}}, "x", []string{"info a: is valid again"}, false},
		{"an empty file keeps its pods", []Read{{Files: files("a", "x")}, {Files: files("a", "")}}, "x", []string{"failed a: the file holds no manifest"}, false},
		{"an unreadable file keeps its pods", []Read{{Files: files("a", "x")}, {Files: []File{{Name: "a", Err: errors.New("i/o error")}}}}, "x", []string{"failed a: read: i/o error"}, false},
		{"a file that was never valid", []Read{{Files: files("a", "bad", "b", "y")}}, "y", []string{"failed a:1: bad"}, true},
		{"a failed read keeps all", []Read{{Files: files("a", "x")}, {Err: errors.New("gone")}}, "x", []string{"failed src: gone"}, false},
		{"and is said once", []Read{{Files: files("a", "x")}, {Err: errors.New("gone")}, {Err: errors.New("gone")}}, "x", nil, false},
		{"read again", []Read{{Files: files("a", "x")}, {Err: errors.New("gone")}, {Files: files("a", "x-2")}}, "x-2", []string{"info src: is read again"}, false},
		{"never read", []Read{{Err: errors.New("gone")}}, "", []string{"failed src: gone"}, true},
		{"an empty directory in the place of another keeps all", []Read{{Identity: here, Files: files("a", "x")}, {Identity: elsewhere}}, "x", []string{"failed src: " + errOtherDirectory.Error()}, false},
		{"a link turned to other manifests", []Read{{Identity: here, Files: files("a", "x", "b", "y")}, {Identity: elsewhere, Files: files("a", "x-2")}}, "x-2", nil, false},
		{"unmounted", []Read{{Identity: mounted, Files: files("a", "x", "b", "y")}, {Identity: here, Files: files("a", "x-2")}}, "x y", []string{"failed src: " + errOtherFileSystem.Error()}, false},
		{"mounted over with all of it", []Read{{Identity: here, Files: files("a", "x")}, {Identity: mounted, Files: files("a", "x", "b", "y")}}, "x y", nil, false},
		{"mounted over nothing", []Read{{Identity: here}, {Identity: mounted, Files: files("a", "x")}}, "x", nil, false},
		{"unmounted and mounted again", []Read{{Identity: mounted, Files: files("a", "x")}, {Identity: here}, {Identity: mounted, Files: files("b", "y")}}, "y", []string{"info src: is read again"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s State
			var notices []Notice
			for _, r := range c.reads {
				s, notices = s.Next("src", r, words)
			}
			if got := strings.Join(names(s, nil), " "); got != c.want {
				t.Errorf("pods %q, want %q", got, c.want)
			}
			var said []string
			for _, n := range notices {
				said = append(said, n.Level.String()+" "+n.Problem.String())
			}
			if !slices.Equal(said, c.notices) {
				t.Errorf("said %q, want %q", said, c.notices)
			}
			if s.Partial() != c.partial {
				t.Errorf("partial %v", s.Partial())
			}
		})
	}
}

// The pod that had a name keeps it, whichever file is first by name.
func TestDuplicatePodsKeepRunningPod(t *testing.T) {
	s, _ := State{}.Next("src", Read{Files: files("b", "x")}, words)
	had := map[string]string{"name /x": "b", "uid x": "b"}
	s, _ = s.Next("src", Read{Files: files("a", "x-2", "b", "x")}, words)
	pods, twins := s.union(had, nil)
	if len(pods) != 1 || pods[0].UID != "x" || len(twins) != 1 || twins[0].File != "a" || !strings.Contains(twins[0].Message, "b:1") {
		t.Errorf("pods %v, twins %v", pods, twins)
	}
	s, _ = s.Next("src", Read{Files: files("a", "x-2")}, words)
	if got := names(s, had); !slices.Equal(got, []string{"x-2"}) {
		t.Errorf("without the first: %v", got)
	}
}

// A restarted agent has no memory of which file had a pod: the one by which it runs keeps it.
func TestDuplicatePodsKeepWhatRunsAtFirstRead(t *testing.T) {
	s, _ := State{}.Next("src", Read{Files: files("a", "x-2 y", "b", "x", "c", "x-3")}, words)
	var asked []string
	runs := func(p *manifest.Pod) bool {
		asked = append(asked, string(p.UID))
		return p.UID == "x" || p.UID == "x-3"
	}
	pods, twins := s.union(nil, runs)
	if len(pods) != 2 || pods[0].UID != "y" || pods[1].UID != "x" || len(twins) != 2 || twins[0].File != "a" || !strings.Contains(twins[0].Message, "b:1") {
		t.Errorf("pods %v, twins %v", pods, twins)
	}
	if slices.Contains(asked, "y") {
		t.Errorf("asked about a pod of one file: %v", asked)
	}
	pods, _ = s.union(map[string]string{"name /x": "c", "uid x-3": "c"}, runs)
	if len(pods) != 2 || pods[1].UID != "x-3" {
		t.Errorf("the file that had it lost it: %v", pods)
	}
}

// An object stays that of the file that had it first, whichever file is first by name, and the other is reported.
func TestDuplicateObjectsKeepTheFirst(t *testing.T) {
	parse := func(name string, data []byte) (*manifest.Set, error) {
		return manifest.Parse(t.Context(), name, data, manifest.LoadOptions{})
	}
	text := func(app string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: b}\nspec: {selector: {app: " + app + "}, ports: [{port: 5432}]}\n" +
			"---\napiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: b}\nstringData: {k: " + app + "}\n" +
			"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: own-" + app + ", namespace: b}\n"
	}
	var s State
	var had map[string]string
	service, secret := types.NamespacedName{Namespace: "b", Name: "db"}, types.NamespacedName{Namespace: "b", Name: "key"}
	for _, step := range []struct {
		files []File
		want  string
		twins []string
	}{
		{files("b.yaml", text("first")), "first", nil},
		{files("a.yaml", text("second"), "b.yaml", text("first")), "first", []string{
			"a.yaml:1: Service b/db is already defined at b.yaml:1, which takes precedence",
			"a.yaml:6: Secret b/key is already defined at b.yaml:6, which takes precedence",
		}},
		{files("a.yaml", text("second")), "second", nil},
		{files("a.yaml", text("second"), "b.yaml", text("first")), "second", []string{
			"b.yaml:1: Service b/db is already defined at a.yaml:1, which takes precedence",
			"b.yaml:6: Secret b/key is already defined at a.yaml:6, which takes precedence",
		}},
	} {
		s, _ = s.Next("src", Read{Files: step.files}, parse)
		objects, holders, twins := s.unionObjects(had)
		had = holders
		if got := objects.Services[service].Spec.Selector["app"]; got != step.want {
			t.Errorf("the Service selects %q, want %q", got, step.want)
		}
		if got := string(objects.Secrets[secret].Data["k"]); got != step.want {
			t.Errorf("the Secret holds %q, want %q", got, step.want)
		}
		if len(objects.ConfigMaps) != len(step.files) {
			t.Errorf("%d ConfigMaps, want one of each file", len(objects.ConfigMaps))
		}
		var said []string
		for _, p := range twins {
			said = append(said, p.String())
		}
		if !slices.Equal(said, step.twins) {
			t.Errorf("said %q, want %q", said, step.twins)
		}
	}
}

// Any sequence of reads, against the rule spelt out file by file: what a file
// wants is what it last held when it was valid, until a read that counts does
// not find it.
func TestRandomReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		ready, identity := false, Identity{}
		good := map[string]string{}
		for range rapid.IntRange(1, 20).Draw(t, "reads") {
			r := Read{Identity: Identity{rapid.Uint64Range(1, 2).Draw(t, "device"), rapid.Uint64Range(1, 2).Draw(t, "inode")}}
			if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
				r.Err = errors.New("no luck")
			}
			there := map[string]bool{}
			for _, name := range []string{"a", "b", "c"} {
				f := File{Name: name, Data: []byte(rapid.SampledFrom([]string{name, name + "-2", "bad", ""}).Draw(t, "data"))}
				switch rapid.IntRange(0, 5).Draw(t, "file") {
				case 0:
					f.Err = errors.New("i/o error")
				case 1, 2:
					continue
				}
				there[name] = true
				r.Files = append(r.Files, f)
			}
			before := fmt.Sprint(names(s, nil))
			s2, _ := s.Next("src", r, words)
			if after := fmt.Sprint(names(s, nil)); after != before {
				t.Fatalf("Next changed the state it was given: %s, then %s", before, after)
			}
			s = s2
			lost := false
			for name := range good {
				lost = lost || !there[name]
			}
			counts := r.Err == nil && (!ready || r.Identity == identity || !lost || r.Identity.Device == identity.Device && len(r.Files) > 0)
			if counts {
				ready, identity = true, r.Identity
				for name := range good {
					if !there[name] {
						delete(good, name)
					}
				}
				for _, f := range r.Files {
					if text := string(f.Data); f.Err == nil && text != "bad" && text != "" {
						good[f.Name] = text
					}
				}
			}
			var want []string
			for _, text := range good {
				want = append(want, text)
			}
			slices.Sort(want)
			if got := names(s, nil); !slices.Equal(got, want) || s.Ready != ready {
				t.Fatalf("pods %v ready %v, want %v %v", got, s.Ready, want, ready)
			}
		}
	})
}
