package daemon

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
)

// otherProcesses asks the podctl processes of this host beside this one.
type otherProcesses struct {
	client *cri.Client
	// asker asks about the pods of this runtime's lock directory, for the process of the
	// locks.
	asker owners.Asker
}

// owners asks the podctl processes that use the runtime by other endpoints, or have other
// run directories, about pods: those of this directory are excluded by their locks.
func (o otherProcesses) owners(ctx context.Context, pods []*pod.Pod) (node.Owners, error) {
	asker := o.asker
	asker.ElsewhereOnly = true
	answers, err := asker.Ask(ctx, o.client, pods)
	if err = errors.Join(err, unreadError(answers)); err != nil {
		return nil, err
	}
	return func(p *pod.Pod) error {
		v := answers.Judge(p)
		switch {
		case v.Kind != owners.ByPodctl, v.Relation == owners.Desires: // it waits for the pod, too
			return nil
		case v.Process.Name == "":
			return v.Why
		}
		return &owner.HeldError{What: fmt.Sprintf("pod %q", p.FullName()), Owner: v.Process.Name, Endpoint: v.Process.Endpoint}
	}, nil
}

// pods returns the pods of the other podctl processes of this host, of any runtime, and
// their instances, or an error if one did not answer or may not be visible.
func (o otherProcesses) pods(ctx context.Context) (map[types.UID]string, error) {
	asker := o.asker
	asker.Everybody = true
	if !asker.OwnerIsGone {
		if err := owners.Unseen(o.client, asker.Procs); err != nil {
			return nil, err
		}
	}
	answers, err := asker.Ask(ctx, o.client, nil)
	if err = errors.Join(err, unreadError(answers)); err != nil {
		return nil, err
	}
	return answers.OwnedPods()
}

func unreadError(a *owners.Answers) error {
	if a == nil {
		return nil
	}
	return a.Unread
}
