package doctor

import "fmt"

// Level is how bad a finding is.
type Level uint8

// The levels.
const (
	// OK: examined, and as it should be.
	OK Level = iota
	// Info: worth knowing; nothing is wrong.
	Info
	// Warning: something does not work, or will not, in some cases.
	Warning
	// Failure: pods cannot run, or not as they should.
	Failure
)

var levelNames = [...]string{OK: "ok", Info: "info", Warning: "warning", Failure: "failure"}

func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// Finding is the result of one check.
type Finding struct {
	// Name of the check: runtime.network.
	Name  string
	Level Level
	// Evidence is what was observed.
	Evidence string
	// Remedy is what to do; "" if there is nothing to do.
	Remedy string
}

// report collects the findings of one check.
type report struct {
	name     string
	findings []Finding
}

func (r *report) add(level Level, remedy, evidence string, args ...any) {
	if len(args) > 0 {
		evidence = fmt.Sprintf(evidence, args...)
	}
	r.findings = append(r.findings, Finding{Name: r.name, Level: level, Evidence: evidence, Remedy: remedy})
}

func (r *report) ok(evidence string, args ...any)       { r.add(OK, "", evidence, args...) }
func (r *report) info(evidence string, args ...any)     { r.add(Info, "", evidence, args...) }
func (r *report) unknown(what string, err error)        { r.add(Info, "", "%s cannot be read: %v", what, err) }
func (r *report) warn(remedy, text string, args ...any) { r.add(Warning, remedy, text, args...) }
func (r *report) fail(remedy, text string, args ...any) { r.add(Failure, remedy, text, args...) }

// Worst returns the highest level of the findings.
func Worst(findings []Finding) Level {
	worst := OK
	for _, f := range findings {
		worst = max(worst, f.Level)
	}
	return worst
}
