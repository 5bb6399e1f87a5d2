package look

import (
	"context"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/serve/journal"
)

// maxEvents is how many events of a pod describe shows.
const maxEvents = 20

// PodEvents returns a function that reads the newest events of a pod from the journal
// below podctl's root directory, repeated ones once.
func PodEvents(e *shell.Env, root string) func(context.Context, *inventory.Pod) ([]view.Event, error) {
	return func(_ context.Context, p *inventory.Pod) ([]view.Event, error) {
		if e.Tape != nil {
			return nil, view.ErrNotRecorded
		}
		entries, err := journal.ReadPod(journal.Dir(root), p.UID)
		if err != nil {
			return nil, err
		}
		series := journal.GroupBySeries(entries)
		var events []view.Event
		for _, s := range series[max(0, len(series)-maxEvents):] {
			events = append(events, view.Event{
				Time: s.Time, Warning: s.Warning, Reason: s.Reason, Container: s.Container, Message: s.Text(),
			})
		}
		return events, nil
	}
}
