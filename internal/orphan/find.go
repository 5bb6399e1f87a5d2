package orphan

import (
	"context"
	"log/slog"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/owner"
)

// Finder looks for orphans, as often as it is asked.
type Finder struct {
	Client *cri.Client
	// Locks is the runtime's directory of locks and control sockets, Logs that of
	// logs, Root that of pod directories.
	Locks, Logs, Root string
	// SkipDirs: the directories below Root are not looked at.
	SkipDirs bool
	Dial     control.Dialer
	Log      *slog.Logger
	// Sources are the kubelet and the cluster that the user named, Files are
	// manifests, StaticPods is a kubelet's static pod directory.
	Sources    desired.Sources
	Cluster    *desired.Cluster
	Files      []string
	StaticPods string
	// KubeletIsGone and OwnerIsGone: the user says that the kubelet, and the podctl
	// processes that are not seen, do not exist any more.
	KubeletIsGone, OwnerIsGone bool

	// self is the instance that locks the names of pods while it terminates them,
	// which does not make it their owner; "" if there is none.
	self string
	// exited are the exits that earlier looks found: opening locks removes the files of
	// processes that were killed.
	exited map[string]owner.Exit
}

// Look asks all sources. The order keeps a pod that is created meanwhile from
// being taken for an orphan: directories and the runtime are listed before any
// source is asked what it desires.
func (f *Finder) Look(ctx context.Context) (*View, error) {
	dirs, err := f.listDirs()
	if err != nil {
		return nil, err
	}
	listed, err := f.Client.ListPods(ctx)
	if err != nil {
		return nil, err
	}
	v := &View{OwnerIsGone: f.OwnerIsGone}
	v.Near, v.NearErr = kubelet.Find(ctx, f.Client.Endpoint().Runtime)
	live, err := f.askAll(ctx, v)
	if err != nil {
		return nil, err
	}
	owners := inventory.NewOwners(f.Client, f.Locks, f.self, f.Dial)
	v.Pods = inventory.Merge(listed, live, owners.Alive)
	if err := owners.Assign(ctx, v.Pods); err != nil {
		return nil, err
	}
	for _, s := range v.Sources {
		v.Answers = append(v.Answers, s.Answer)
	}
	v.Kubelet = f.judgeKubelet(v)
	if !f.OwnerIsGone {
		v.OwnersUnseen = inventory.OwnersUnseen(f.Client)
	}
	judgeDirs(ctx, v, owners, dirs)
	v.Exited, err = f.exits(v)
	return v, err
}

// askAll asks all sources at the same time, and returns what the podctl processes
// of this runtime say of their pods.
func (f *Finder) askAll(ctx context.Context, v *View) ([]inventory.Live, error) {
	clients, err := control.Find(f.Locks, f.Dial)
	if err != nil {
		return nil, err
	}
	node, err := f.Sources.NodeName(v.Near)
	if err != nil {
		return nil, err
	}
	asks := f.questions(ctx, v.Near, node)
	answers := make([]Source, len(asks))
	var asking sync.WaitGroup
	for i, ask := range asks {
		asking.Go(func() { answers[i] = ask() })
	}
	live := inventory.Ask(ctx, clients)
	asking.Wait()
	for _, l := range live {
		v.Sources = append(v.Sources, Source{Answer: liveAnswer(l), Kind: FromPodctl})
	}
	v.Sources = append(v.Sources, answers...)
	if dir := f.staticPods(v); dir != "" {
		v.Sources = append(v.Sources, Source{
			Answer: desired.Static(dir, node), Kind: FromStatic, Named: f.StaticPods != "",
		})
	}
	return live, ctx.Err()
}

// questions are the sources beside podctl processes and the static pod
// directory. A kubelet that uses the runtime is asked at the ports of its
// configuration, unless the user named its address.
func (f *Finder) questions(ctx context.Context, near *kubelet.Process, node string) []func() Source {
	var asks []func() Source
	for _, path := range f.Files {
		asks = append(asks, func() Source {
			return Source{Answer: desired.Files(ctx, nil, path), Kind: FromFile, Named: true}
		})
	}
	kubeletSource := func(answer kubelet.Answer, named bool) Source {
		return Source{Answer: desired.Kubelet(answer), Kind: FromKubelet, Named: named, Kubelet: answer}
	}
	q := kubelet.Question{StaticPods: f.StaticPods, NodeName: node}
	switch {
	case f.Sources.AskKubelet:
		asks = append(asks, func() Source { return kubeletSource(f.Sources.Kubelet.Ask(ctx, near, q), true) })
	case near != nil:
		asks = append(asks, func() Source { return kubeletSource(near.Ask(ctx, q), false) })
	}
	if f.Cluster != nil {
		asks = append(asks, func() Source {
			return Source{Answer: f.Cluster.Pods(ctx, node), Kind: FromCluster, Named: true}
		})
	}
	return asks
}

// staticPods is the directory to read, "" for none.
func (f *Finder) staticPods(v *View) string {
	if f.StaticPods != "" || v.Near == nil {
		return f.StaticPods
	}
	return v.Near.StaticPods()
}

// judgeKubelet is what the view says of the kubelet.
func (f *Finder) judgeKubelet(v *View) KubeletState {
	k := KubeletState{Gone: f.KubeletIsGone, Answered: v.read(FromKubelet), Unsettled: v.unsettled(), HasDir: map[types.UID]bool{}}
	if v.Near == nil {
		return k
	}
	k.PID = v.Near.PID
	k.HasDir = hasDirs(v.Pods, v.Near.HasPodDir)
	return k
}

// hasDirs are the pods of which the kubelet has the directory, by their own UID.
func hasDirs(pods []*inventory.Pod, has func(given types.UID) bool) map[types.UID]bool {
	dirs := map[types.UID]bool{}
	for _, p := range pods {
		dirs[p.UID] = has(p.GivenUID())
	}
	return dirs
}

// exits is when the podctl processes exited that created what is there.
func (f *Finder) exits(v *View) (map[string]owner.Exit, error) {
	names := map[string]bool{}
	for _, p := range v.Pods {
		names[p.Creator] = true
	}
	for _, d := range v.Dirs {
		names[d.Instance] = true
	}
	if f.exited == nil {
		f.exited = map[string]owner.Exit{}
	}
	for name := range names {
		if name == "" {
			continue
		}
		exit, err := owner.LastBeat(f.Locks, name)
		if err != nil {
			return nil, err
		}
		if !exit.At.IsZero() {
			f.exited[name] = exit
		}
	}
	return maps.Clone(f.exited), nil
}
