package fleet

// Reason is why a node has no answer.
type Reason string

const (
	// NoInspector: no inspector pod runs on the node, or there is no such node.
	NoInspector Reason = "NoInspector"
	// NotReady: the node's inspector pod is terminating, or its container does not run.
	NotReady Reason = "NotReady"
	// TimedOut: the time for each node has passed.
	TimedOut Reason = "TimedOut"
	// Unreachable: the command could not be started, or the connection was lost.
	Unreachable Reason = "Unreachable"
	// CommandFailed: the command exited with an error instead of an answer.
	CommandFailed Reason = "CommandFailed"
	// InvalidAnswer: what the command printed is not what podctl prints.
	InvalidAnswer Reason = "InvalidAnswer"
	// TooLarge: the answer is larger than its limit.
	TooLarge Reason = "TooLarge"
	// Interrupted: the user did not wait for the node.
	Interrupted Reason = "Interrupted"
)

// Failure is why a node has no answer.
type Failure struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
	// ExitCode is the command's, 0 if it has none.
	ExitCode int `json:"exitCode,omitempty"`
}

// Outcome is how a node took part.
type Outcome struct {
	Node string
	// ExitCode is the command's.
	ExitCode int
	// Failure is nil for a node that answered.
	Failure *Failure
}

// Worst returns the exit code of the whole: the highest one of a node's command; a node whose
// command did not exit counts as noAnswer.
func Worst(outcomes []Outcome, noAnswer int) int {
	worst := 0
	for _, o := range outcomes {
		code := o.ExitCode
		if o.Failure != nil && code <= 0 {
			code = noAnswer
		}
		worst = max(worst, code)
	}
	return worst
}
