package why

import (
	"strconv"
	"strings"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// record is one error of a text, and the step that its reason shows, "" if none does.
type record struct {
	text string
	step Step
}

// The lines that begin a record, and what of them is the error.
var (
	// An event: "  Warning  FailedMount  3s (x4 over 1m)  kubelet  MountVolume.SetUp failed …" where it is described,
	// "3s  Warning  FailedMount  pod/web  MountVolume.SetUp failed …" in a list, and older forms.
	eventLine    = lazyregexp.New(`^(?:\s*|\s*[\w<].*\s)(Warning|Normal)\s+([A-Z]\w+)\s+(\S.*)$`)
	eventColumns = lazyregexp.New(`^(?:(?:<\w+>|\d\S*(?: \(x\d+ over \S+\))?)\s+(?:\S+, )?\S+\s+|\w+/\S+\s+)(\S.*)$`)
	// E1127 07:47:06.211430   21361 pod_workers.go:1324] …
	klogLine = lazyregexp.New(`\b([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w.-]+:\d+\] `)
	// time="…" level=error msg="…" error="…"
	logfmtLine = lazyregexp.New(`\btime="[^"]*" level=(\w+) (?:msg=)?`)
	// A field of what kubectl describe prints: "    Reason:  Error".
	fieldLine = lazyregexp.New(`^(\s*)([A-Z][\w ]*):(?:\s+(\S.*))?$`)
	errorLine = lazyregexp.New(`^(?i)\s*(?:warning|error|fatal|failed|rpc error|message:|\w{3} \d\d \d\d:\d\d:\d\d )`)
)

// stepsOfReasons are the steps of events and of containers that wait, by their reasons.
var stepsOfReasons = map[string]Step{
	"FailedScheduling": StepAdmission, "UnexpectedAdmissionError": StepDevice, "FailedMount": StepVolume, "FailedAttachVolume": StepVolume, "FailedMapVolume": StepVolume, "FailedCreatePodSandBox": StepSandbox,
	"FailedCreatePodSandbox": StepSandbox, "NetworkNotReady": StepNetwork, "FailedPostStartHook": StepHook, "FailedPreStopHook": StepStop, "FailedKillPod": StepStop, "InspectFailed": StepPull,
	"ErrImageNeverPull": StepPull, "FailedPrepareDynamicResources": StepDevice, "FailedCreatePodContainer": StepSandbox,
	"CrashLoopBackOff": StepRestart, "CreateContainerConfigError": StepCreate, "CreateContainerError": StepCreate, "RunContainerError": StepStart, "PostStartHookError": StepHook,
	"PreCreateHookError": StepCreate, "PreStartHookError": StepStart, "ErrImagePull": StepPull, "ImagePullBackOff": StepPull, "InvalidImageName": StepPull, "ImageInspectError": StepPull,
	"RegistryUnavailable": StepPull, "SignatureValidationFailed": StepPull, "StartError": StepStart, "ContainerCannotRun": StepStart, "OOMKilled": StepRestart, "Error": StepRestart,
}

// splitErrors splits a text into its errors. A text of several lines that are of no known form is one
// error, unless its lines begin as errors do.
func splitErrors(text string) []record {
	s := splitter{described: strings.Contains(text, "\nNamespace:") && strings.Contains(text, "Name:") || strings.Contains(text, "\nEvents:") || strings.HasPrefix(text, "Events:")}
	for line := range strings.Lines(text) {
		if s.add(strings.TrimRight(line, "\r\n")); len(s.all) == maxRecords {
			break
		}
	}
	s.flush()
	return s.all
}

// maxRecords bounds the errors of a text: a MiB of a log has fewer.
const maxRecords = 20_000

type splitter struct {
	all []record
	// described: the text is what kubectl describe prints.
	described bool
	state     string // of the container of the field before: Waiting, Terminated
	reason    string
	open      strings.Builder // lines of the error that is being read
	step      Step
	ignore    bool // the record before is none of an error: lines that continue it are neither
}

func (s *splitter) flush() {
	if s.open.Len() > 0 {
		s.all = append(s.all, record{s.open.String(), s.step})
		s.open.Reset()
	}
	s.step = ""
}

func (s *splitter) begin(text string, step Step) {
	s.flush()
	s.open.WriteString(text)
	s.step, s.ignore = step, false
}

func (s *splitter) skip() {
	s.flush()
	s.ignore = true
}

func (s *splitter) add(line string) {
	if m := eventLine().FindStringSubmatch(line); m != nil {
		message := m[3]
		if columns := eventColumns().FindStringSubmatch(message); columns != nil {
			message = columns[1]
		}
		s.event(m[1], m[2], message)
	} else if m := klogLine().FindStringSubmatchIndex(line); m != nil {
		if line[m[2]:m[3]] == "I" {
			s.skip()
			return
		}
		s.logged(line[m[1]:])
	} else if m := logfmtLine().FindStringSubmatchIndex(line); m != nil && len(strings.TrimSpace(line[:m[0]])) < 80 {
		switch level := line[m[2]:m[3]]; level {
		case "info", "debug", "trace":
			s.skip()
		default:
			s.logged(line[m[1]:])
		}
	} else if s.described {
		s.field(line)
	} else if strings.TrimSpace(line) == "" {
		s.flush()
		s.ignore = false
	} else if errorLine().MatchString(line) {
		s.begin(line, "")
	} else if s.open.Len() == 0 && !s.ignore {
		s.begin(line, "")
	} else if !s.ignore {
		s.open.WriteString(" " + strings.TrimSpace(line))
	}
}

// logged begins a record of a log: the call that it is about shows the step, and its error the rest.
func (s *splitter) logged(message string) {
	text, found := errorIn(message)
	if quoted, err := strconv.QuotedPrefix(message); err == nil && !found {
		text, _ = strconv.Unquote(quoted)
	}
	about, _, _ := strings.Cut(message, text)
	s.begin(text, newPhrase(about, "").step())
}

func (s *splitter) event(kind, reason, message string) {
	if kind == "Normal" && reason != "BackOff" && reason != "Killing" {
		s.skip()
		return
	}
	s.begin(message, stepsOfReasons[reason])
}

// field reads a line of kubectl describe that is no event.
func (s *splitter) field(line string) {
	m := fieldLine().FindStringSubmatch(line)
	if m == nil {
		if s.open.Len() > 0 && strings.HasPrefix(line, " ") {
			s.open.WriteString(" " + strings.TrimSpace(line)) // a message of several lines
		}
		return
	}
	s.flush()
	switch name, value := m[2], m[3]; name {
	case "State", "Last State":
		s.state, s.reason = value, ""
	case "Reason":
		if s.reason = value; value == "OOMKilled" {
			s.begin(value, StepRestart)
		}
	case "Message":
		s.begin(value, stepsOfReasons[s.reason])
	}
}

// errorIn returns the error in a message that a kubelet or containerd logged: the value of err or error, else what is
// after "Error: "; without one it returns the message, and false.
func errorIn(message string) (text string, found bool) {
	for _, key := range []string{` err="`, ` error="`} {
		if _, rest, found := strings.Cut(message, key); found {
			// Before version 1.3 containerd did not escape quotes in its log.
			if quoted, err := strconv.QuotedPrefix(`"` + rest); err == nil && (len(quoted) > len(rest) || rest[len(quoted)-1] == ' ') {
				rest, _ = strconv.Unquote(quoted)
			}
			return rest, true
		}
	}
	if _, rest, found := strings.Cut(message, "Error: "); found {
		return rest, true
	}
	return message, false
}
