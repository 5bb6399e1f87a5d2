package program

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// liveCandidates asks the runtime that the command line names; nothing if it does not
// answer in time.
func liveCandidates(ctx context.Context, e *shell.Env, g shell.Globals, done cmdline.Completion) []cmdline.Candidate {
	quiet := *e
	quiet.Log = slog.New(slog.DiscardHandler)
	g.Runtime = cmp.Or(done.Flags["runtime-endpoint"], g.Runtime)
	g.Image = cmp.Or(done.Flags["image-endpoint"], g.Image)
	client, disconnect, err := shell.Connect(ctx, &quiet, g)
	if err != nil {
		return nil
	}
	defer disconnect()
	var all []cmdline.Candidate
	if done.Live == cmdline.Images {
		all = imageCandidates(ctx, client)
	} else {
		pods, err := client.ListPods(ctx)
		if err != nil {
			return nil
		}
		all = podCandidates(pods, done)
	}
	all = slices.DeleteFunc(all, func(c cmdline.Candidate) bool { return !strings.HasPrefix(c.Word, done.Word) })
	slices.SortFunc(all, func(a, b cmdline.Candidate) int { return strings.Compare(a.Word, b.Word) })
	return slices.CompactFunc(all, func(a, b cmdline.Candidate) bool { return a.Word == b.Word })
}

func imageCandidates(ctx context.Context, client *cri.Client) []cmdline.Candidate {
	images, err := client.ListImages(ctx)
	if err != nil {
		return nil
	}
	var all []cmdline.Candidate
	for _, image := range images {
		for _, name := range image.RepoTags {
			all = append(all, cmdline.Candidate{Word: name})
		}
	}
	return all
}

// podCandidates are the plain names of what the runtime lists. A pod of the namespace that is
// meant has its name alone, others their namespace before it; its containers follow
// once its name is complete.
func podCandidates(pods []*pod.Pod, done cmdline.Completion) []cmdline.Candidate {
	namespace := cmp.Or(done.Flags["namespace"], "default")
	var all []cmdline.Candidate
	for _, p := range pods {
		name, plain := pod.CLIName(p.Namespace, p.Name)
		switch {
		case !plain:
			continue
		case p.Namespace == namespace:
			name = p.Name
		}
		state := "exited"
		if p.Running() {
			state = "running"
		}
		switch done.Live {
		case cmdline.Namespaces:
			all = append(all, cmdline.Candidate{Word: p.Namespace, Usage: "namespace"})
		case cmdline.Pods:
			all = append(all, cmdline.Candidate{Word: name, Usage: state})
		case cmdline.CopyTargets:
			all = append(all, cmdline.Candidate{Word: name + ":", Usage: state})
		case cmdline.Targets:
			all = append(all, cmdline.Candidate{Word: name, Usage: state})
			if strings.HasPrefix(done.Word, name+"/") {
				all = append(all, containerCandidates(p, name+"/")...)
			}
		case cmdline.NoQuestion, cmdline.Containers, cmdline.Images, cmdline.Nodes:
		}
	}
	if done.Live == cmdline.Containers {
		for _, p := range namedPods(pods, done) {
			all = append(all, containerCandidates(p, "")...)
		}
	}
	return all
}

// namedPods are the pods that the arguments before name; all if there are none.
func namedPods(pods []*pod.Pod, done cmdline.Completion) []*pod.Pod {
	named, err := target.Pods(view.Merge(pods, owners.NotAsked()),
		target.Query{Namespace: done.Flags["namespace"], Words: done.Arguments})
	if err != nil {
		return nil
	}
	var found []*pod.Pod
	for _, p := range named {
		found = append(found, p.Runtime)
	}
	return found
}

func containerCandidates(p *pod.Pod, prefix string) []cmdline.Candidate {
	var all []cmdline.Candidate
	for _, c := range p.Containers { // newest first
		if pod.IsShellSafe(c.Name) && !slices.ContainsFunc(all, func(known cmdline.Candidate) bool { return known.Word == prefix+c.Name }) {
			all = append(all, cmdline.Candidate{Word: prefix + c.Name, Usage: c.State.String() + ", " + c.Image})
		}
	}
	return all
}
