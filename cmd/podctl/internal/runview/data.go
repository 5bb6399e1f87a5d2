package runview

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// RunLine is one line of `podctl run -o json` and of `podctl agent -o json`. Which fields are set depends
// on its type.
type RunLine struct {
	Time time.Time `json:"time"` // when it happened
	// note, event, log or, once for each pod at the end, pod; of an agent also
	// source: a message about a manifest or its source
	Type      string `json:"type"`
	Kind      string `json:"kind,omitempty"`      // of an event about a Job or CronJob, which Namespace, Name and UID name then
	Namespace string `json:"namespace,omitempty"` // of the pod that it is about
	Name      string `json:"name,omitempty"`      // of the pod
	UID       string `json:"uid,omitempty"`       // of the pod; a log line has none
	Container string `json:"container,omitempty"` // of an event or log line that is about one
	// of a pod, of an event as of then: Pending, Running, Succeeded, Failed
	Phase v1.PodPhase `json:"phase,omitempty"`

	// of an event the kubelet's reason, or podctl's own; of a pod its status's;
	// of a source info, warning or failed
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"` // of a note, an event or a pod: a text to read
	Warning bool   `json:"warning,omitempty"` // an event to look at
	// of an event about a start that failed, why the container waits: CreateContainerConfigError, ErrImagePull, …
	State string `json:"state,omitempty"`

	// The facts of an event, as its reason has them.
	Exit      *event.Exit          `json:"exit,omitempty"`      // Exited: how the container's process ended
	Image     *event.Image         `json:"image,omitempty"`     // Pulling, Pulled, and a pull that failed
	Waiting   *event.ContainerWait `json:"waiting,omitempty"`   // a start that failed: why the container waits
	Stop      *event.Stop          `json:"stop,omitempty"`      // Terminating: why, and with which grace period
	Eviction  *event.Eviction      `json:"eviction,omitempty"`  // Evicted, and Preempting of the pod that gives way
	Victims   []string             `json:"victims,omitempty"`   // Preempting: the pods that give way to this one
	HostPort  *event.HostPort      `json:"hostPort,omitempty"`  // NodePorts, Waiting, and a pod that a host port keeps from running: the port, and the pod that has it
	Probe     *event.Probe         `json:"probe,omitempty"`     // Unhealthy, ProbeWarning
	Failure   *event.Failure       `json:"failure,omitempty"`   // what failed, and in which layer
	Addresses []string             `json:"addresses,omitempty"` // SandboxReady: the pod's; none on the host's network
	Adoption  event.Adoption       `json:"adoption,omitempty"`  // Adopted: continues, stays-stopped, restarts, stays-ended

	Stream string `json:"stream,omitempty"` // of a log line: stdout, stderr
	Text   string `json:"text,omitempty"`   // of a log line; a byte that is no UTF-8 becomes U+FFFD

	Rejected   string          `json:"rejected,omitempty"`   // why a pod was not admitted
	Restarts   *int32          `json:"restarts,omitempty"`   // of a pod as kubectl counts them: of its init containers only until they are done
	Containers []ContainerLine `json:"containers,omitempty"` // of a pod, init containers first
	Unready    []event.Unready `json:"unready,omitempty"`    // of a pod: containers whose probes failed when they were last asked
}

// ContainerLine is how a container ended, or what it is doing.
type ContainerLine struct {
	Name     string `json:"name"`               // as in the manifest
	State    string `json:"state"`              // waiting, running, terminated
	Ready    bool   `json:"ready"`              // its probes, where it has any, say so
	Restarts int32  `json:"restarts"`           // how often it was started again
	ExitCode *int32 `json:"exitCode,omitempty"` // of one that has terminated
	Reason   string `json:"reason,omitempty"`   // the kubelet's: ErrImagePull, OOMKilled, …
	Message  string `json:"message,omitempty"`  // a text to read
}

// dataPrinter prints one object a line.
type dataPrinter struct {
	now    func() time.Time
	mu     sync.Mutex
	stream *output.Stream
}

func newDataPrinter(s Screen, o Options) *dataPrinter {
	return &dataPrinter{now: s.Now, stream: o.Format.NewStream(s.Out)}
}

func (p *dataPrinter) print(l RunLine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.Time.IsZero() {
		l.Time = p.now()
	}
	name := ""
	if l.Name != "" {
		name = pod.DisplayName(l.Namespace, l.Name)
	}
	_ = p.stream.Print(name, l) // as with fmt.Fprint: the reader may be gone
}

func (p *dataPrinter) Note(text string) { p.print(RunLine{Type: "note", Message: text}) }

func (p *dataPrinter) Event(ev event.Event) {
	p.print(RunLine{
		Time: ev.Time, Type: "event", Kind: ev.Kind, Namespace: ev.Namespace, Name: ev.Name, UID: string(ev.UID), Container: ev.Container,
		Phase: ev.Phase, Reason: ev.Reason, Message: ev.Text(), Warning: ev.Warning, State: ev.State(),
		Exit: ev.Exit, Image: ev.Image, Waiting: ev.Waiting, Stop: ev.Stop, Eviction: ev.Eviction, Victims: ev.Victims,
		HostPort: ev.HostPort, Probe: ev.Probe, Failure: ev.Failure, Addresses: ev.Addresses, Adoption: ev.Adoption,
	})
}

func (p *dataPrinter) Log(l LogLine) {
	p.print(RunLine{Type: "log", Namespace: l.Namespace, Name: l.Pod, Container: l.Container, Stream: l.Stream, Text: string(l.Text)})
}

func (*dataPrinter) Refresh([]node.Info) {}

func (p *dataPrinter) Finish(infos []node.Info) {
	for _, i := range infos {
		p.print(podLine(i))
	}
}

func podLine(i node.Info) RunLine {
	n := i.Display().Restarts
	l := RunLine{
		Type: "pod", Namespace: i.Pod.Namespace, Name: i.Pod.Name, UID: string(i.Pod.UID),
		Phase: i.Status.Phase, Reason: i.Status.Reason, Message: i.Status.Message, Restarts: &n, Unready: i.Unready,
	}
	if err := i.Rejected; err != nil {
		l.Rejected, l.HostPort = err.Error(), i.HostPort()
	}
	for _, c := range pod.Statuses(&i.Status) {
		line := ContainerLine{Name: c.Name, Ready: c.Ready, Restarts: c.RestartCount}
		switch s := c.State; {
		case s.Terminated != nil:
			line.State, line.Reason, line.Message, line.ExitCode = "terminated", s.Terminated.Reason, s.Terminated.Message, &s.Terminated.ExitCode
		case s.Running != nil:
			line.State = "running"
		case s.Waiting != nil:
			line.State, line.Reason, line.Message = "waiting", s.Waiting.Reason, s.Waiting.Message
		}
		l.Containers = append(l.Containers, line)
	}
	return l
}
