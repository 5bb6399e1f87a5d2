package runview

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/node"
)

// yamlPrinter prints each pod once, as a document of a YAML stream: when it
// is what the run waits for, or has ended. What happens meanwhile goes to
// stderr in lines, so that stdout can be piped.
type yamlPrinter struct {
	*linePrinter
	screen Screen
	node   string
	// ready: the run waits for ready pods.
	ready   bool
	printed map[types.UID]bool
}

func newYAMLPrinter(s Screen, o Options) *yamlPrinter {
	progress := s
	progress.Out = s.Errw
	lines := newLinePrinter(progress, o)
	if s.ErrTTY {
		lines.logs = output.NewWriter(s.Errw)
	}
	return &yamlPrinter{
		linePrinter: lines,
		screen:      s, node: o.NodeName, ready: o.Ready, printed: map[types.UID]bool{},
	}
}

func (p *yamlPrinter) Refresh(infos []node.Info) {
	for _, i := range infos {
		if i.Ended() || p.ready && i.Ready() {
			p.document(i)
		}
	}
}

func (p *yamlPrinter) Finish(infos []node.Info) {
	for _, i := range infos {
		p.document(i)
	}
}

func (p *yamlPrinter) document(i node.Info) {
	if p.printed[i.Pod.UID] {
		return
	}
	if len(p.printed) > 0 {
		fmt.Fprintln(p.screen.Out, "---")
	}
	p.printed[i.Pod.UID] = true
	_ = output.YAML(p.screen.Out, podObject(i, p.node)) // as with fmt.Fprint: the reader may be gone
}

// podObject is the pod as an API server would show it: what it runs by, with
// all defaults, and its status.
func podObject(i node.Info, nodeName string) *v1.Pod {
	p := i.Pod.DeepCopy()
	p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	if p.Spec.NodeName == "" {
		p.Spec.NodeName = nodeName
	}
	p.Status = *i.Status.DeepCopy()
	if err := i.Rejected; err != nil && p.Status.Phase == "" {
		p.Status.Phase, p.Status.Reason = v1.PodPending, i.Wait.Reason.String()
		p.Status.Message = err.Error()
	}
	return p
}
