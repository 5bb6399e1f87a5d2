package plugin

import (
	"context"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/internal/fleet/cluster"
)

// NodeCandidates are the nodes that the last word may name; none if the cluster cannot be
// asked.
func (p *Plugin) NodeCandidates(ctx context.Context, done cmdline.Completion) []cmdline.Candidate {
	client, err := cluster.Open(cluster.Options{Kubeconfig: done.Flags["kubeconfig"], Context: done.Flags["context"]})
	if err != nil {
		return nil
	}
	nodes, err := client.Nodes(ctx, "")
	if err != nil {
		return nil
	}
	var all []cmdline.Candidate
	for _, name := range nodes {
		if strings.HasPrefix(name, done.Word) {
			all = append(all, cmdline.Candidate{Word: name, Usage: "node"})
		}
	}
	return all
}
