package source

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pod"
)

// Identity identifies a directory behind a name. It is zero for sources without one,
// such as a URL.
type Identity struct{ Device, Inode uint64 }

// File is one file as it was read now.
type File struct {
	Name string
	Data []byte
	// Err: it is there, and could not be read.
	Err error
}

// Read is all of a source as it was read now.
type Read struct {
	// Err: the source could not be read; the rest means nothing then.
	Err error
	// Identity is that of the directory.
	Identity Identity
	// Files are sorted by name.
	Files []File
	// Skipped are the files of a directory that are neither hidden nor manifests by
	// their name.
	Skipped []string
}

// Level says how much a notice is about.
type Level uint8

const (
	// Info: all is well again.
	Info Level = iota
	// Warning: worth knowing; the manifest is followed.
	Warning
	// Failed: something cannot be followed, and what was last good stays.
	Failed
)

var levelNames = [...]string{Info: "info", Warning: "warning", Failed: "failed"}

func (l Level) String() string { return levelNames[l] }

// Notice is a message for the user, sent once.
type Notice struct {
	Level   Level
	Problem manifest.Problem
}

// State is what is known of a source: for each file what was last good. Its
// zero value has read nothing. It is a value: Next returns another one.
type State struct {
	// Ready: the source was read as a whole at least once.
	Ready bool
	// identity is that of the last good read.
	identity Identity
	// failure is why the source cannot be read, "" if it can.
	failure string
	files   map[string]file
	// skipped is what was said of files that are not read.
	skipped []manifest.Problem
}

// file is what is known of one file.
type file struct {
	// sum is of the bytes that good, or the problems, were made of; "" if it could not
	// be read, or never was.
	sum string
	// good is what the file last held when it was valid; nil if it never was.
	good *manifest.Set
	// problems are what is wrong with it now, and warnings what is worth
	// knowing of what is good.
	problems, warnings []manifest.Problem
}

// Parse makes a set of a file's bytes; its error is a manifest.Problems.
type Parse func(name string, data []byte) (*manifest.Set, error)

// Next returns the state after a read, and what is new to say about it. name is
// the source's own in messages. Pure, if parse is.
func (s State) Next(name string, r Read, parse Parse) (State, []Notice) {
	if err := s.refuse(r); err != nil {
		return s.failed(name, err)
	}
	next := State{Ready: true, identity: r.Identity, files: map[string]file{}, skipped: manifest.SkippedWarning(name, r.Skipped)}
	notices := newNotices(Warning, s.skipped, next.skipped)
	if s.failure != "" {
		notices = append(notices, Notice{Level: Info, Problem: manifest.Problem{File: name, Message: "is read again"}})
	}
	for _, f := range r.Files {
		before := s.files[f.Name]
		now := before.afterRead(f, parse)
		next.files[f.Name] = now
		notices = append(notices, newNotices(Failed, before.problems, now.problems)...)
		notices = append(notices, newNotices(Warning, before.warnings, now.warnings)...)
		if len(before.problems) > 0 && len(now.problems) == 0 {
			notices = append(notices, Notice{Level: Info, Problem: manifest.Problem{File: f.Name, Message: "is valid again"}})
		}
	}
	return next, notices
}

// refuse says why a read does not count.
func (s State) refuse(r Read) error {
	switch {
	case r.Err != nil:
		return r.Err
	case !s.Ready || r.Identity == s.identity:
		return nil
	}
	// Another directory has taken the name. A link may have been turned to
	// another version of the manifests; but a directory that was unmounted, or
	// created again, has not lost its pods.
	there := map[string]bool{}
	for _, f := range r.Files {
		there[f.Name] = true
	}
	missing := 0
	for name, f := range s.files {
		if f.pods() > 0 && !there[name] {
			missing++
		}
	}
	switch {
	case missing == 0:
		return nil
	case r.Identity.Device != s.identity.Device:
		return errOtherFileSystem
	case len(r.Files) == 0:
		return errOtherDirectory
	}
	return nil
}

var (
	errOtherFileSystem = errors.New("the directory is on another file system and has no manifests: was it unmounted?")
	errOtherDirectory  = errors.New("the directory was replaced by an empty one")
)

// failed returns the state after a read that does not count.
func (s State) failed(name string, err error) (State, []Notice) {
	if s.failure == err.Error() {
		return s, nil
	}
	s.failure = err.Error()
	p := manifest.Problem{File: name, Message: s.failure, Hint: "nothing is started from it until it can be read"}
	if s.Ready {
		p.Hint = "the pods of its last valid content keep running; restart podctl agent to read it as it is now"
	}
	return s, []Notice{{Level: Failed, Problem: p}}
}

// afterRead returns what is known of a file after it was read.
func (f file) afterRead(now File, parse Parse) file {
	if now.Err != nil {
		f.sum = ""
		f.problems = []manifest.Problem{{File: now.Name, Message: "read: " + now.Err.Error()}}
		return f
	}
	sum := sha256.Sum256(now.Data)
	if f.sum == string(sum[:]) {
		return f
	}
	f.sum = string(sum[:])
	set, err := parse(now.Name, now.Data)
	if err != nil {
		f.problems = problemsOf(now.Name, err)
		return f
	}
	return file{sum: f.sum, good: set, warnings: set.Warnings}
}

func problemsOf(name string, err error) []manifest.Problem {
	if all, ok := errors.AsType[manifest.Problems](err); ok {
		return all
	}
	return []manifest.Problem{{File: name, Message: err.Error()}}
}

// notEmpty refuses a file without any document: an editor that writes in place,
// or a shell, empties it first.
func notEmpty(name string, s *manifest.Set) error {
	if len(s.Pods) > 0 || len(s.Documents) > 0 {
		return nil
	}
	return manifest.Problems{{File: name, Message: "the file holds no manifest", Hint: "remove the file to terminate its pods"}}
}

// pods returns how many pods the file desires.
func (f file) pods() int {
	if f.good == nil {
		return 0
	}
	return len(f.good.Pods)
}

// newNotices returns the problems that were not said before.
func newNotices(level Level, before, now []manifest.Problem) []Notice {
	said := map[string]bool{}
	for _, p := range before {
		said[p.String()] = true
	}
	var notices []Notice
	for _, p := range now {
		if !said[p.String()] {
			notices = append(notices, Notice{Level: level, Problem: p})
		}
	}
	return notices
}

// union returns what all files desire, with the pods that share a name or a UID
// with another one left out: had are those that the source desired before,
// by name and by UID, with their file, and keep what they had. Of pods that it desires for
// the first time, those come first that runs reports: nil reports none.
func (s State) union(had map[string]string, runs func(*manifest.Pod) bool) (pods []*manifest.Pod, twins []manifest.Problem) {
	names := slices.Sorted(maps.Keys(s.files))
	holder, rivals := map[string]*manifest.Pod{}, map[string]int{}
	each := func(keep func(p *manifest.Pod, file string) bool) {
		for _, name := range names {
			if s.files[name].good == nil {
				continue
			}
			for _, p := range s.files[name].good.Pods {
				if keys := keysOf(p); keep(p, name) && holder[keys[0]] == nil && holder[keys[1]] == nil {
					holder[keys[0]], holder[keys[1]] = p, p
				}
			}
		}
	}
	each(func(p *manifest.Pod, file string) bool {
		for _, key := range keysOf(p) {
			rivals[key]++
		}
		return had[keysOf(p)[0]] == file
	})
	if runs != nil {
		each(func(p *manifest.Pod, _ string) bool {
			keys := keysOf(p)
			return max(rivals[keys[0]], rivals[keys[1]]) > 1 && runs(p)
		})
	}
	each(func(*manifest.Pod, string) bool { return true })
	for _, name := range names {
		good := s.files[name].good
		if good == nil {
			continue
		}
		for _, p := range good.Pods {
			keys := keysOf(p)
			if holder[keys[0]] == p {
				pods = append(pods, p)
				continue
			}
			first := holder[keys[0]]
			if first == nil {
				first = holder[keys[1]]
			}
			twins = append(twins, manifest.Problem{
				File: p.File, Line: p.Line, Message: fmt.Sprintf("pod %s is already defined at %s:%d, which takes precedence", pod.DisplayName(p.Namespace, p.Name), first.File, first.Line),
				Hint: "give one of them another name, or remove one file",
			})
		}
	}
	return pods, twins
}

// unionObjects returns the objects of all files. Of two of one kind and name it takes that of the file that had it
// before, else of the first file by name; twins are the others. holders are the files of all objects, by keyOf.
func (s State) unionObjects(had map[string]string) (objects *pod.Objects, holders map[string]string, twins []manifest.Problem) {
	first := map[string]*manifest.Document{}
	var sets []*manifest.Set
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		good := s.files[name].good
		if good == nil {
			continue
		}
		sets = append(sets, good)
		for _, d := range good.Documents {
			if key := keyOf(d); first[key] == nil || had[key] == name {
				first[key] = d
			}
		}
	}
	holders = map[string]string{}
	for key, d := range first {
		holders[key] = d.File
	}
	var all []*pod.Objects
	for _, set := range sets {
		own := set.Objects
		for _, d := range set.Documents {
			winner := first[keyOf(d)]
			if winner == d {
				continue
			}
			if own == set.Objects {
				own = pod.Merge(own)
			}
			if own.Remove(d.Kind, types.NamespacedName{Namespace: d.Namespace, Name: d.Name}) { // else a workload, which has pods
				twins = append(twins, manifest.Problem{
					File: d.File, Line: d.Line, Message: fmt.Sprintf("%s %s is already defined at %s:%d, which takes precedence", d.Kind, d.FullName(), winner.File, winner.Line),
					Hint: "give one of them another name, or remove one file",
				})
			}
		}
		all = append(all, own)
	}
	return pod.Merge(all...), holders, twins
}

// keyOf returns the kind and the full name of an object, which must be unique.
func keyOf(d *manifest.Document) string { return d.Kind + " " + d.Namespace + "/" + d.Name }

// keysOf returns the pod's full name and UID, which must be unique.
func keysOf(p *manifest.Pod) [2]string {
	return [2]string{"name " + p.Namespace + "/" + p.Name, "uid " + string(p.UID)}
}

// Partial reports whether the source may want more than is known: it was never
// read, or it has a file that was never valid.
func (s State) Partial() bool {
	for _, f := range s.files {
		if f.good == nil {
			return true
		}
	}
	return !s.Ready
}
