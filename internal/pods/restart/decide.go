package restart

import (
	"errors"
	"fmt"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/sys/hint"
)

// way is how containers of a pod are restarted.
type way uint8

const (
	// byProcess: their podctl process is asked to.
	byProcess way = iota
	// byKubelet: they are stopped by runtime calls, and their kubelet starts them again.
	byKubelet
)

// signalHint is what remains for a container that nothing starts again.
const signalHint = "--signal sends its process a signal, whatever its owner"

// decide returns how containers of a pod are restarted, or why they are not. With force, a
// kubelet that may own the pod is taken for its owner.
func decide(v owners.Verdict, force bool) (way, error) {
	switch v.Relation {
	case owners.Manages:
		return byProcess, checkProcess(v.Process)
	case owners.Desires:
		switch v.Kind {
		case owners.ByKubelet:
			return byKubelet, nil
		case owners.ByPodctl:
			return 0, fmt.Errorf("%s waits to run it, and does not manage what runs", v.Process.Title())
		case owners.BySource, owners.Nobody:
		}
		return orForce(fmt.Errorf("%s desires it, and no kubelet answers that starts it again", v.Source), force)
	case owners.Terminates:
		return 0, hint.With(errors.New("its kubelet is terminating it"), "podctl terminating shows what it waits for")
	case owners.Unknown:
		if v.Kind == owners.ByKubelet {
			return orForce(v.Why, force)
		}
		return 0, v.Why
	case owners.None:
	}
	return 0, hint.With(errors.New("no live owner starts it again"), signalHint)
}

func orForce(why error, force bool) (way, error) {
	if force {
		return byKubelet, nil
	}
	return 0, hint.With(why, "--force restarts it without its preStop hook, for a kubelet that starts it again when it answers")
}

// checkProcess returns why the podctl process that has the pod cannot be asked, nil if it can.
func checkProcess(p owners.Process) error {
	switch {
	case p.Name == "":
		return fmt.Errorf("cannot see which podctl process holds its name: %w", p.Err)
	case p.Elsewhere:
		return hint.With(fmt.Errorf("%s manages it, by another endpoint", p.Title()), "use -r and --run-dir of that process")
	case p.Err != nil:
		return p.NoAnswerError()
	}
	return nil
}

// decideSignal returns why no signal is sent to a container of the pod, nil if it may be.
func decideSignal(v owners.Verdict, force bool) error {
	var why error
	switch v.Relation {
	case owners.Terminates:
		why = errors.New("its kubelet is terminating it")
	case owners.Unknown:
		why = v.Why
	case owners.None, owners.Desires, owners.Manages:
	}
	if why == nil || force {
		return nil
	}
	return hint.With(why, "--force sends the signal nevertheless")
}
