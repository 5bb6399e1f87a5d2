package pulls

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAssemble(t *testing.T) {
	began, now := epoch, epoch.Add(time.Minute)
	of := func(content, ingests []string) lease {
		return lease{created: began, content: content, ingests: ingests}
	}
	manifest := &document{Config: descriptor{digestD, 10}, Layers: []descriptor{{digestB, 100}, {digestC, 200}}}
	layerB, layerC := Layer{Digest: digestB, Done: 100, Total: 100}, Layer{Digest: digestC, Done: 50, Total: 200, Started: began, Updated: now}
	ingests := map[string]ingest{"layer-" + digestC: {50, 200, began, now}}
	for name, test := range map[string]struct {
		facts facts
		want  []Pull
	}{
		"nothing in flight":                   {facts{ingests: ingests}, nil},
		"a lease that nothing is pulled with": {facts{leases: []lease{of(nil, nil)}, ingests: ingests}, nil},
		"a layer complete, one in transit": {
			facts{
				leases: []lease{of([]string{digestA, digestD, digestB}, []string{"layer-" + digestC})}, ingests: ingests,
				documents: map[string]*document{digestA: manifest}, sources: map[string][]string{digestA: {"docker.io/library/app"}},
			},
			[]Pull{{Image: "docker.io/library/app@" + digestA, Repositories: []string{"docker.io/library/app"}, Digests: []string{digestA}, Since: began, At: now, Layers: []Layer{layerB, layerC}}},
		},
		"a layer was there before, one waits": {
			facts{leases: []lease{of([]string{digestA}, nil)}, documents: map[string]*document{digestA: manifest}, present: map[string]bool{digestB: true}},
			[]Pull{{Image: digestA, Digests: []string{digestA}, Since: began, At: now, Layers: []Layer{layerB, {Digest: digestC, Total: 200}}}},
		},
		"another pull transfers the layer": {
			facts{leases: []lease{of([]string{digestA, digestB}, nil)}, ingests: ingests, documents: map[string]*document{digestA: manifest}},
			[]Pull{{Image: digestA, Digests: []string{digestA}, Since: began, At: now, Layers: []Layer{layerB, layerC}}},
		},
		"the image is named by its index": {
			facts{
				leases: []lease{of([]string{digestA, digestD}, nil)}, documents: map[string]*document{
					digestA: manifest, digestD: {Manifests: []descriptor{{digestA, 10}}},
				},
				sources: map[string][]string{digestA: {"r.io/app"}, digestD: {"r.io/app"}}, present: map[string]bool{digestB: true, digestC: true},
			},
			[]Pull{{
				Image: "r.io/app@" + digestD, Repositories: []string{"r.io/app"}, Digests: []string{digestA, digestD}, Since: began, At: now,
				Layers: []Layer{layerB, {Digest: digestC, Done: 200, Total: 200}},
			}},
		},
		"the manifest is in transit": {
			facts{leases: []lease{of(nil, []string{"manifest-" + digestA})}, ingests: map[string]ingest{"manifest-" + digestA: {}}},
			[]Pull{{Image: digestA, Digests: []string{digestA}, Since: began, At: now}},
		},
		"a manifest from two repositories": {
			facts{
				leases: []lease{of([]string{digestA}, nil)}, documents: map[string]*document{digestA: {}},
				sources: map[string][]string{digestA: {"r.io/app", "r.io/copy"}},
			},
			[]Pull{{Image: digestA, Repositories: []string{"r.io/app", "r.io/copy"}, Digests: []string{digestA}, Since: began, At: now}},
		},
		"a manifest that cannot be read": {
			facts{
				leases: []lease{of([]string{digestA}, []string{"layer-" + digestC})}, ingests: ingests,
				documents: map[string]*document{digestA: nil},
			},
			[]Pull{{Image: digestA, Digests: []string{digestA}, Since: began, At: now, Layers: []Layer{layerC}}},
		},
		"indexes that refer to each other": {
			facts{leases: []lease{of([]string{digestA, digestB}, nil)}, documents: map[string]*document{
				digestA: {Manifests: []descriptor{{digestB, 1}}}, digestB: {Manifests: []descriptor{{digestA, 1}}},
			}},
			[]Pull{{Image: digestA, Digests: []string{digestA, digestB}, Since: began, At: now}},
		},
		"sizes that are none": {
			facts{
				leases: []lease{of([]string{digestA}, nil)}, documents: map[string]*document{
					digestA: {Layers: []descriptor{{digestB, -1}, {digestC, math.MaxInt64}, {digestC, 5}, {digestD, 10}}},
				},
				ingests: map[string]ingest{"layer-" + digestC: {-7, -1, began, now}, "layer-" + digestD: {70, 10, began, now}},
			},
			[]Pull{{Image: digestA, Digests: []string{digestA}, Since: began, At: now, Layers: []Layer{
				{Digest: digestB}, {Digest: digestC, Total: math.MaxInt64, Started: began, Updated: now}, {Digest: digestD, Done: 10, Total: 10, Started: began, Updated: now},
			}}},
		},
		"two pulls of one image": {
			facts{
				leases:    []lease{{created: began.Add(time.Second), content: []string{digestA}}, of([]string{digestA}, nil)},
				documents: map[string]*document{digestA: {}}, sources: map[string][]string{digestA: {"r.io/app"}},
			},
			[]Pull{{Image: "r.io/app@" + digestA, Repositories: []string{"r.io/app"}, Digests: []string{digestA}, Since: began, At: now}},
		},
		"the oldest first": {
			facts{
				leases: []lease{{created: began.Add(time.Second), content: []string{digestA}}, of([]string{digestB}, nil)}, documents: map[string]*document{digestA: {}, digestB: {}},
			},
			[]Pull{{Image: digestB, Digests: []string{digestB}, Since: began, At: now}, {Image: digestA, Digests: []string{digestA}, Since: began.Add(time.Second), At: now}},
		},
	} {
		test.facts.at = now
		if diff := cmp.Diff(test.want, assemble(test.facts)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}
