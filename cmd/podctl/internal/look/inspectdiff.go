package look

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/pods/target"
)

// inspectDifference is one line of `podctl inspect --diff -o json`.
type inspectDifference struct {
	Path string `json:"path"` // JSONPath into the container, as podctl inspect prints it
	Old  any    `json:"old"`  // in the older attempt, null if it has none
	New  any    `json:"new"`  // in the newest attempt
}

// runInspectDiff compares two attempts of a container.
func runInspectDiff(ctx context.Context, e *shell.Env, o inspectOptions, s *session) error {
	o.Previous = false
	before, err := s.one(ctx, o.Query)
	if err != nil {
		return err
	}
	if before.Container == nil {
		return fmt.Errorf("pod %s has no container", before.Pod.DisplayName())
	}
	attempts := target.Attempts(before.Pod, before.Container.Name)
	newest := attempts[0]
	switch {
	case o.Attempt != nil:
	case len(attempts) == 1:
		return target.PreviousNotFound(before.Pod, newest)
	default:
		before.Container = attempts[1]
	}
	if !o.showSecrets {
		s.ReadObjects(ctx, []*inventory.Pod{before.Pod})
	}
	spec := specOf(before.Pod, newest.Name)
	old, err := o.raw(ctx, s.Client.RawContainer, before.Container.ID, spec)
	if err != nil {
		return err
	}
	now, err := o.raw(ctx, s.Client.RawContainer, newest.ID, spec)
	if err != nil {
		return err
	}
	l := output.List{Header: []string{"PATH", fmt.Sprintf("ATTEMPT %d", before.Container.Attempt), fmt.Sprintf("ATTEMPT %d", newest.Attempt)}}
	for _, d := range diffAnswers(old, now) {
		l.Items = append(l.Items, output.Item{
			Name: d.Path, Cells: []string{d.Path, valueText(d.Old), valueText(d.New)}, Data: inspectDifference(d),
		})
	}
	if len(l.Items) == 0 && o.format.IsTable() {
		fmt.Fprintln(e.Errw, "no differences")
	}
	return o.format.Print(e.Out, l)
}

// valueText is a value in a table: JSON, - for none.
func valueText(value any) string {
	if value == nil {
		return "-"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
