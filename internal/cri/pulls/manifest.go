package pulls

import (
	"encoding/json"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"

	"github.com/podctl/podctl/internal/sys/bounded"
)

const (
	// maxDocument bounds a manifest or config: the OCI's specification asks registries
	// for 4 MiB.
	maxDocument = 4 << 20
	// maxValues bounds the JSON values of one.
	maxValues = 100_000
	// maxLayers bounds the layers of a manifest. The kernel mounts no more than 500.
	maxLayers = 500
	// maxManifests bounds the manifests of an index.
	maxManifests = 1000
)

// descriptor is what a document says about a blob.
type descriptor struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// document is a manifest or an index.
type document struct {
	Config    descriptor   `json:"config"`
	Layers    []descriptor `json:"layers"`
	Manifests []descriptor `json:"manifests"`
	// chainIDs are the names of the layers' snapshots, nil until the config is read.
	chainIDs []string
}

// isIndex reports whether the document lists manifests.
func (d *document) isIndex() bool { return len(d.Manifests) > 0 }

// parseDocument reads a manifest or an index; nil for what is none, or is out of bounds.
func parseDocument(data []byte) *document {
	var d document
	if !decode(data, &d) || len(d.Layers) > maxLayers || len(d.Manifests) > maxManifests {
		return nil
	}
	for _, blob := range slices.Concat(d.Layers, d.Manifests) {
		if digest.Digest(blob.Digest).Validate() != nil {
			return nil
		}
	}
	return &d
}

// parseChainIDs reads the config of an image and returns the name of the snapshot of each
// layer: the sum of the layer's own and that of the one below. The list is empty for what
// is no config, or is out of bounds.
func parseChainIDs(data []byte) []string {
	var config struct {
		RootFS struct {
			DiffIDs []digest.Digest `json:"diff_ids"`
		} `json:"rootfs"`
	}
	ids := []string{}
	if !decode(data, &config) || len(config.RootFS.DiffIDs) > maxLayers {
		return ids
	}
	for _, id := range identity.ChainIDs(config.RootFS.DiffIDs) {
		ids = append(ids, id.String())
	}
	return ids
}

// decode reports whether data is JSON within bounds.
func decode(data []byte, into any) bool {
	return bounded.CheckJSON(data, maxValues) == nil && json.Unmarshal(data, into) == nil
}
