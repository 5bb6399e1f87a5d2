package run

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/desired/source"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/pod"
)

// admitter admits the pods of all sources of an agent with the objects of all sources, whatever the
// order in which they are read. A pod that is no longer admitted stays as it was.
type admitter struct {
	sources map[string]*admittedSource
	// admitted are the pods as last admitted, by UID.
	admitted map[types.UID]*manifest.Pod
	// reported are the texts of the findings that were reported and still apply.
	reported map[string]bool
}

// admittedSource is a source and its admitted pods.
type admittedSource struct {
	update source.Update
	pods   []*manifest.Pod
	// denied: a pod of the source was denied.
	denied bool
	// stale: pods or denied changed since takeStale.
	stale bool
}

func newAdmitter() *admitter {
	return &admitter{sources: map[string]*admittedSource{}, admitted: map[types.UID]*manifest.Pod{}, reported: map[string]bool{}}
}

// setSource replaces the update of a source.
func (a *admitter) setSource(name string, u source.Update) {
	if a.sources[name] == nil {
		a.sources[name] = &admittedSource{}
	}
	a.sources[name].update = u
}

// admitAll admits the pods of all sources and returns notices of new findings: none until complete,
// when all sources were read, because an object may still come. strict turns warnings into denials.
func (a *admitter) admitAll(strict, complete bool) []source.Notice {
	var each []*pod.Objects
	names := slices.Sorted(maps.Keys(a.sources))
	for _, name := range names {
		each = append(each, a.sources[name].update.Objects)
	}
	objects := pod.Merge(each...)
	var notices []source.Notice
	said, last := map[string]bool{}, map[types.UID]*manifest.Pod{}
	for _, name := range names {
		s := a.sources[name]
		var pods []*manifest.Pod
		denied := false
		for _, p := range s.update.Pods {
			admitted, findings := manifest.Admit(p, objects)
			deny := false
			for _, f := range findings {
				n := source.Notice{Level: source.Warning, Problem: f.Problem}
				if f.Verdict == manifest.Deny || strict && f.Verdict == manifest.Warn {
					deny, n.Level = true, source.Failed
				}
				text := f.String()
				if complete && !a.reported[text] && !said[text] {
					notices = append(notices, n)
				}
				said[text] = true
			}
			if before := a.admitted[p.UID]; deny || before != nil && string(before.Document) == string(admitted.Document) {
				admitted = before // nil if it never was admitted
			}
			if denied = denied || deny; admitted != nil {
				pods, last[p.UID] = append(pods, admitted), admitted
			}
		}
		s.stale = s.stale || denied != s.denied || !slices.Equal(pods, s.pods)
		s.pods, s.denied = pods, denied
	}
	a.admitted = last
	if complete {
		a.reported = said
	}
	return notices
}

// takeStale returns the names of the stale sources and marks them as not stale.
func (a *admitter) takeStale() []string {
	var names []string
	for name, s := range a.sources {
		if s.stale {
			names, s.stale = append(names, name), false
		}
	}
	slices.Sort(names)
	return names
}

const serviceAccountFlagName = "service-account"

func serviceAccountFlag() cli.Flag {
	return &cli.StringFlag{
		Name: serviceAccountFlagName, DefaultText: "none",
		Usage: "token of service accounts in projected volumes, `ignore|FILE`: ignore leaves it out of the volumes, FILE holds the token; without it such volumes are refused",
	}
}

// readServiceAccounts returns what becomes of the tokens of service accounts, and the file
// that has one.
func readServiceAccounts(c *cli.Context) (_ manifest.ServiceAccounts, file string, err error) {
	switch value := c.String(serviceAccountFlagName); {
	case !c.IsSet(serviceAccountFlagName):
		return manifest.AccountsRefused, "", nil
	case value == "":
		return 0, "", shell.Usagef("--%s is empty: ignore or a file", serviceAccountFlagName)
	case value == "ignore":
		return manifest.AccountsIgnored, "", nil
	default:
		if _, err := volume.ReadToken(value); err != nil {
			return 0, "", shell.Usagef("--%s: %v", serviceAccountFlagName, err)
		}
		file, err := filepath.Abs(value)
		return manifest.AccountsProvided, file, err
	}
}
