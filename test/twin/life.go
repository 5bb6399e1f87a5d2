package twin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/lab/trace"
)

// Step is a call that changes something, or an exec.
type Step struct {
	Method  string
	At, End time.Time
	Code    string
	// Request is what was asked for, with the names that both nodes have in common.
	Request any
}

// Attempt is a run of a sandbox or of a container, from the call that makes it on.
type Attempt struct {
	Steps []Step
	// Probes are the execs of probes, which come beside the steps.
	Probes []Step
	// Exit is when and how the container ended, zero if that was not seen.
	Exit Exit
	// Containers are those of a sandbox, by name.
	Containers map[string][]*Attempt
}

// first is the index of the first step of a method, -1 without one.
func (a *Attempt) first(method string) int {
	return slices.IndexFunc(a.Steps, func(s Step) bool { return s.Method == method })
}

// Exit is the end of a container as its runtime has it.
type Exit struct {
	At     time.Time
	Code   float64
	Reason string
}

// Life is what a node did with the pods of one name, a sandbox after the other.
type Life struct {
	Pod       string
	Sandboxes []*Attempt
}

// Lives sorts the calls of a node by the pods that they are about. rename gives what has
// other names in the two nodes one name; suffix is what the node appends to names of pods.
func Lives(calls []trace.Data, until time.Time, rename *strings.Replacer, suffix string) map[string]*Life {
	r := &reader{rename: rename, suffix: suffix, lives: map[string]*Life{}, byID: map[string]*attemptOf{}, pulled: map[string][]Step{}}
	slices.SortStableFunc(calls, func(a, b trace.Data) int { return a.Start.Compare(b.Start) })
	for _, c := range calls {
		if c.Type == "call" && c.Start.Before(until) {
			r.call(c)
		}
	}
	return r.lives
}

// attemptOf is an attempt by its id in the runtime.
type attemptOf struct {
	*Attempt
	pod     string
	masked  *strings.Replacer
	stopped bool
}

type reader struct {
	rename *strings.Replacer
	suffix string
	lives  map[string]*Life
	byID   map[string]*attemptOf
	// pulled are the pulls for the next container of a pod.
	pulled map[string][]Step
}

func (r *reader) call(c trace.Data) {
	request, _ := c.Request.(map[string]any)
	switch c.Method {
	case "RunPodSandbox":
		r.sandbox(c, request)
	case "PullImage":
		pod := strings.TrimSuffix(text(request, "sandboxConfig", "metadata", "name"), r.suffix)
		r.pulled[pod] = append(r.pulled[pod], r.step(c, masking(text(request, "sandboxConfig", "metadata", "uid"), pod, r.suffix)))
	case "CreateContainer":
		r.container(c, request)
	case "ContainerStatus":
		r.status(c.Response)
	case "StartContainer", "StopContainer", "UpdateContainerResources", "ExecSync":
		if of := r.byID[text(request, "containerId")]; of != nil {
			of.add(c.Method, r.step(c, of.masked))
		}
	case "StopPodSandbox":
		// What is stopped again, before it is removed, is not running.
		if of := r.byID[text(request, "podSandboxId")]; of != nil && !of.stopped {
			of.stopped = c.Code == "OK"
			of.Steps = append(of.Steps, r.step(c, of.masked))
		}
	}
}

func (a *attemptOf) add(method string, s Step) {
	if command, _ := json.Marshal(s.Request); method == "ExecSync" && strings.Contains(string(command), `"cat"`) {
		a.Probes = append(a.Probes, s)
		return
	}
	a.Steps = append(a.Steps, s)
}

func (r *reader) sandbox(c trace.Data, request map[string]any) {
	pod := strings.TrimSuffix(text(request, "config", "metadata", "name"), r.suffix)
	masked := masking(text(request, "config", "metadata", "uid"), pod, r.suffix)
	life := r.lives[pod]
	if life == nil {
		life = &Life{Pod: pod}
		r.lives[pod] = life
	}
	a := &Attempt{Steps: []Step{r.step(c, masked)}, Containers: map[string][]*Attempt{}}
	life.Sandboxes = append(life.Sandboxes, a)
	response, _ := c.Response.(map[string]any)
	if id := text(response, "podSandboxId"); id != "" {
		r.byID[id] = &attemptOf{Attempt: a, pod: pod, masked: masked}
	}
}

func (r *reader) container(c trace.Data, request map[string]any) {
	of := r.byID[text(request, "podSandboxId")]
	if of == nil {
		return
	}
	name := text(request, "config", "metadata", "name")
	a := &Attempt{Steps: append(r.pulled[of.pod], r.step(c, of.masked))}
	delete(r.pulled, of.pod)
	of.Containers[name] = append(of.Containers[name], a)
	response, _ := c.Response.(map[string]any)
	if id := text(response, "containerId"); id != "" {
		r.byID[id] = &attemptOf{Attempt: a, pod: of.pod, masked: of.masked}
	}
}

func (r *reader) status(response any) {
	answer, _ := response.(map[string]any)
	of := r.byID[text(answer, "status", "id")]
	if of == nil || text(answer, "status", "state") != "CONTAINER_EXITED" {
		return
	}
	status := answer["status"].(map[string]any)
	var nanos json.Number
	_ = json.Unmarshal([]byte(text(status, "finishedAt")), &nanos)
	at, _ := nanos.Int64()
	code, _ := status["exitCode"].(float64)
	of.Exit = Exit{At: time.Unix(0, at), Code: code, Reason: text(status, "reason")}
}

// masking replaces what a pod has for itself: its UID, and its name with the node's suffix.
func masking(uid, pod, suffix string) *strings.Replacer {
	words := []string{uid, "<uid>"}
	if suffix != "" {
		words = append(words, pod+suffix, pod)
	}
	return strings.NewReplacer(words...)
}

// messageFile is where a container's termination message is written, in a file with a random name.
var messageFile = regexp.MustCompile(`(<root>/pods/<uid>/containers/[^/"]*/)[0-9a-f]{8}"`)

func (r *reader) step(c trace.Data, masked *strings.Replacer) Step {
	written, err := json.Marshal(c.Request)
	if err != nil {
		panic(err)
	}
	var request any
	text := messageFile.ReplaceAllString(masked.Replace(r.rename.Replace(string(written))), `$1<random>"`)
	if err := json.Unmarshal([]byte(text), &request); err != nil {
		panic(err)
	}
	return Step{Method: c.Method, At: c.Start, End: c.Start.Add(time.Duration(c.Took * float64(time.Second))), Code: c.Code, Request: sorted(request)}
}

// sorted puts lists into an order of their own: of variables and mounts a kubelet's is random.
func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = sorted(value)
			list, ok := value.([]any)
			if !ok {
				continue
			}
			by := map[string]string{"envs": "key", "mounts": "containerPath"}[key]
			if by == "" {
				if key == "options" {
					slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
				}
				continue
			}
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(text(a.(map[string]any), by), text(b.(map[string]any), by)) })
		}
	case []any:
		for i := range v {
			v[i] = sorted(v[i])
		}
	}
	return v
}

// text is the text at a path in JSON, "" if there is none.
func text(object map[string]any, path ...string) string {
	for _, key := range path[:len(path)-1] {
		object, _ = object[key].(map[string]any)
	}
	value, _ := object[path[len(path)-1]].(string)
	return value
}

// firstRun reports whether the attempts begin with the first run of the container in its pod.
func firstRun(attempts []*Attempt) bool {
	if len(attempts) == 0 {
		return false
	}
	for _, s := range attempts[0].Steps {
		if request, _ := s.Request.(map[string]any); s.Method == "CreateContainer" {
			config, _ := request["config"].(map[string]any)
			metadata, _ := config["metadata"].(map[string]any)
			n, _ := metadata["attempt"].(float64)
			return n == 0
		}
	}
	return false
}

// since is the life as a person reads it: a line for each step, with the time since began.
func (l *Life) since(began time.Time) string {
	type line struct {
		at   time.Time
		text string
	}
	var lines []line
	var add func(name string, a *Attempt)
	add = func(name string, a *Attempt) {
		for _, s := range a.Steps {
			lines = append(lines, line{s.At, fmt.Sprintf("%s %s %s (%s)", s.Method, name, s.Code, s.End.Sub(s.At).Round(time.Millisecond))})
		}
		if !a.Exit.At.IsZero() {
			lines = append(lines, line{a.Exit.At, fmt.Sprintf("exit %s %v %s", name, a.Exit.Code, a.Exit.Reason)})
		}
		for c, runs := range a.Containers {
			for i, run := range runs {
				add(fmt.Sprintf("%s/%s.%d", name, c, i), run)
			}
		}
	}
	for i, a := range sandboxes(l) {
		add(fmt.Sprint(i), a)
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%8.3f  %s\n", l.at.Sub(began).Seconds(), l.text)
	}
	return b.String()
}
