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
	return 0, hint.With(errors.New("no live owner starts it again"), "podctl orphans lists pods without an owner")
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
