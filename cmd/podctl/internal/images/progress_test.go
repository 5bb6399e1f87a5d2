package images

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/pulls"
)

func TestPullProgressText(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	digest := func(c string) string { return "sha256:" + strings.Repeat(c, 64) }
	app := pulls.Pull{
		Image: "r.io/app@" + digest("f"), Repositories: []string{"r.io/app"}, Since: now.Add(-12 * time.Second), At: now,
		Layers: []pulls.Layer{
			{Digest: digest("a"), Done: 3 << 20, Total: 3 << 20},
			{Digest: digest("b"), Done: 5 << 20, Total: 20 << 20, Started: now.Add(-10 * time.Second)},
			{Digest: digest("c"), Total: 8 << 20},
			{Digest: digest("d"), Total: 8 << 20, Started: now},
		},
	}
	fetched, unsized := app, app
	fetched.Layers = app.Layers[:1]
	unsized.Layers = []pulls.Layer{{Digest: digest("e"), Done: 2 << 20, Started: now.Add(-2 * time.Second)}}
	other := pulls.Pull{Repositories: []string{"r.io/app"}, At: now}
	for name, test := range map[string]struct {
		reported []pulls.Pull
		failed   error
		want     []string
	}{
		"layers": {[]pulls.Pull{app}, nil, []string{
			"r.io/app:1: 8.0MiB of 39MiB, 512KiB/s, for 12s",
			"  aaaaaaaaaaaaa  [====================]  3.0MiB",
			"  bbbbbbbbbbbbb  [=====>..............]  5.0MiB of 20MiB",
			"  ccccccccccccc  [....................]  waits, 8.0MiB",
			"  ddddddddddddd  [>...................]  0B of 8.0MiB",
		}},
		"all fetched":                    {[]pulls.Pull{fetched}, nil, []string{"r.io/app:1: unpacks 3.0MiB, for 12s", "  aaaaaaaaaaaaa  [====================]  3.0MiB"}},
		"no total":                       {[]pulls.Pull{unsized}, nil, []string{"r.io/app:1: 2.0MiB, 1.0MiB/s, for 12s", "  eeeeeeeeeeeee  2.0MiB"}},
		"no manifest":                    {[]pulls.Pull{{Repositories: []string{"r.io/app"}, At: now}}, nil, []string{"r.io/app:1: reads the manifest, for 12s"}},
		"two of the repository":          {[]pulls.Pull{app, other}, nil, []string{"r.io/app:1: one of 2 pulls of this repository, for 12s"}},
		"another image":                  {[]pulls.Pull{{Repositories: []string{"r.io/else"}, At: now}}, nil, []string{"r.io/app:1: waits for the registry, for 12s"}},
		"not reported":                   {nil, cri.ErrUnsupported, []string{"r.io/app:1: progress not known, for 12s"}},
		"not reported, but bytes":        {[]pulls.Pull{{At: now, Layers: []pulls.Layer{{Done: 7 << 20}}}}, cri.ErrUnsupported, []string{"r.io/app:1: 7.0MiB written by 1 pull, of any image, for 12s"}},
		"the runtime does not answer it": {nil, errors.New("list leases: no\nanswer"), []string{"r.io/app:1: progress not known: list leases: no; answer, for 12s"}},
	} {
		p := &pullProgress{env: &shell.Env{Now: func() time.Time { return now }, Size: func() (int, int) { return 80, 24 }}, left: 2, current: []currentPull{{"r.io/app:1", now.Add(-12 * time.Second)}}}
		p.set(test.reported, test.failed)
		want := strings.Join(append([]string{"pulling 2 images, 15s"}, test.want...), "\n")
		if got := p.text(15 * time.Second); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// The figures fit beside a long name.
func TestLongNamesAreCut(t *testing.T) {
	const name = "registry.example.com/a-team/with-a-long-name/and-an-image:v1.2.3"
	now := time.Unix(1_000_000, 0)
	p := &pullProgress{failed: cri.ErrUnsupported}
	for width, want := range map[int]string{
		0:  name + ": progress not known, for 0s",
		60: "registry.example…an-image:v1.2.3: progress not known, for 0s",
		10: "registry.e…ge:v1.2.3: progress not known, for 0s",
	} {
		if got := p.line(currentPull{name, now}, now, width); got != want {
			t.Errorf("width %d: %q", width, got)
		}
	}
}
