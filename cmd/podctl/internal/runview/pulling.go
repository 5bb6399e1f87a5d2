package runview

import (
	"errors"
	"sync"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/pods/images"
)

// observePeriod is how often the runtime is asked for its pulls while one is shown.
const observePeriod = time.Second

// pullObserver shows how far the pull of an image is. It asks the runtime in the background,
// and only while it is asked itself.
type pullObserver struct {
	list func() ([]pulls.Pull, error)
	now  func() time.Time

	mu      sync.Mutex
	asked   time.Time
	asking  bool
	known   []pulls.Pull
	history pulls.History
}

// text is ", 12MiB of 40MiB, 3.1MiB/s", "" if it is not known.
func (o *pullObserver) text(image string) string {
	if o == nil {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.now(); !o.asking && now.Sub(o.asked) >= observePeriod {
		o.asking, o.asked = true, now
		go o.observe()
	}
	p := pulls.Find(o.known, image)
	if p == nil {
		return ""
	}
	return ", " + images.ProgressText(*p, o.history.Rate(*p), output.Size)
}

func (o *pullObserver) observe() {
	all, err := o.list()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known = all
	o.history.Add(all)
	o.asking = errors.Is(err, errors.ErrUnsupported) // never again
}
