package owners

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

// asksKubelet reports whether verdicts about the listed pods depend on a kubelet and the
// sources beside it.
func (a *Asker) asksKubelet(listed []*pod.Pod) bool {
	mayBeKubelets := func(p *pod.Pod) bool { c := creatorOf(p); return c == CreatedByKubelet || c == NoSandbox }
	return a.Kubelet == KubeletAlways || a.Kubelet == KubeletIfNeeded && slices.ContainsFunc(listed, mayBeKubelets)
}

// AskConfiguredKubelet returns what the kubelet answers whose configuration names the endpoint:
// all that is known of a kubelet while the runtime does not answer.
func (a *Asker) AskConfiguredKubelet(ctx context.Context, endpoint string) (*Kubelet, error) {
	answers := &Answers{}
	k := &answers.Kubelet
	k.Process, k.FindErr = kubelet.FindConfigured(ctx, endpoint)
	return k, a.askSources(ctx, answers)
}

// askSources asks the kubelet that was found and all sources of desired pods at the same time.
func (a *Asker) askSources(ctx context.Context, answers *Answers) error {
	k := &answers.Kubelet
	k.Gone = a.KubeletIsGone
	node, err := a.Sources.NodeName(k.Process)
	if err != nil {
		return err
	}
	asked := make([]Source, 0, len(a.Files)+2)
	var asking sync.WaitGroup
	ask := func(s Source, question func() sources.Answer) {
		asked = append(asked, s)
		at := &asked[len(asked)-1] // which stays there: asked has room for all
		asking.Go(func() { at.Answer = question() })
	}
	for _, path := range a.Files {
		ask(Source{Kind: FromFile, Named: true}, func() sources.Answer { return sources.Files(ctx, nil, path) })
	}
	if a.Cluster != nil {
		ask(Source{Kind: FromCluster, Named: true}, func() sources.Answer { return a.Cluster.Pods(ctx, node) })
	}
	question := kubelet.Question{StaticPods: a.StaticPods, NodeName: node, CountUndesired: a.CountUndesired}
	switch {
	case a.Sources.AskKubelet:
		k.Answer, k.Asked, k.Named = a.Sources.Kubelet.Ask(ctx, k.Process, question), true, true
	case k.Process != nil:
		k.Answer, k.Asked = k.Process.Ask(ctx, question), true
	}
	if k.Process != nil {
		k.PID = k.Process.PID
	}
	asking.Wait()
	dir := a.StaticPods
	if dir == "" && k.Process != nil {
		dir = k.Process.StaticPods()
	}
	if dir != "" { // after the kubelet answered: it names each pod of its directory by then
		asked = append(asked, Source{Answer: sources.Static(dir, node), Kind: FromStatic, Named: a.StaticPods != ""})
	}
	answers.Sources = asked
	return nil
}

// settleKubelet completes what is known of the kubelet.
func (a *Asker) settleKubelet(answers *Answers, listed []*pod.Pod) {
	k := &answers.Kubelet
	k.Unsettled = answers.unsettledError(listed)
	if k.Process == nil {
		return
	}
	k.HasDir = map[types.UID]bool{}
	for _, p := range listed {
		k.HasDir[p.UID] = k.Process.HasPodDir(p.GivenUID())
	}
}

// answered reports whether the kubelet answered.
func (k *Kubelet) answered() bool { return k.Asked && k.Err == nil }

// unsettledError is why the pods that the kubelet desires are not known, nil if the sources
// have them all. The cluster and the static pods together stand in for its answer.
func (a *Answers) unsettledError(listed []*pod.Pod) error {
	k := &a.Kubelet
	cluster := a.answered(FromCluster)
	switch {
	case k.FindErr != nil:
		return k.FindErr
	case cluster && a.answered(FromStatic):
		return nil
	case k.Process == nil && !k.answered():
		return &kubelet.AbsentError{}
	case !k.answered():
		return k.unknownError(k.Err)
	}
	incomplete := k.Incomplete
	if cluster {
		incomplete = k.IncompleteBesideCluster
	}
	if incomplete != nil {
		return hint.With(incomplete, readKubeletHint)
	}
	if err := a.foreignUnknownError(listed); err != nil && k.Process != nil {
		return k.unknownError(err)
	} else if err != nil {
		return err
	}
	return nil
}

// unknownError is an error that says why the pods are not known that the kubelet of this
// runtime desires.
func (k *Kubelet) unknownError(cause error) error {
	return hint.Errorf(readKubeletHint, "a kubelet (pid %d) uses this runtime, and its desired pods are not known: %w", k.PID, cause)
}

// readKubeletHint names the flags by which a kubelet's pods can be read.
const readKubeletHint = "read its pods: --kubelet https://127.0.0.1:10250 with --kubelet-token-file, or --kubelet-cert and --kubelet-key\n" +
	"or read its sources: --kubeconfig with --node, and --static-pods"

// foreignUnknownError is an error if the kubelet that answered was named, and may not be the one of
// this runtime: none of its pods runs here.
func (a *Answers) foreignUnknownError(listed []*pod.Pod) error {
	if !a.Kubelet.Named {
		return nil
	}
	runsHere := func(p *pod.Pod) bool {
		return creatorOf(p) == CreatedByKubelet && p.Running() && a.Kubelet.Object(p.GivenUID()) != nil
	}
	if slices.ContainsFunc(listed, runsHere) {
		return nil
	}
	return hint.Errorf("pass the --kubelet that uses this runtime, or --kubelet-is-gone if it is never started again",
		"%s names none of the pods that run here, and may be the kubelet of another runtime", a.Kubelet.Source)
}

// answered reports whether a source of the kind answered.
func (a *Answers) answered(kind SourceKind) bool {
	return slices.ContainsFunc(a.Sources, func(s Source) bool { return s.Kind == kind && s.Err == nil })
}
