package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
)

// conditionOptions are those of `podctl condition`.
type conditionOptions struct {
	shell.Globals
	namespace, name string
	conditions      []v1.PodCondition
}

// conditionCommand returns `podctl condition`.
func conditionCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:   "condition",
		Usage:  "set conditions of a pod, such as those of its readiness gates",
		Args:   cmdline.Args{Of: cmdline.Pod, ByName: true, Rest: cmdline.Conditions},
		Effect: cmdline.Changes,
		Description: "STATUS is True, False or Unknown; TYPE- removes a condition. Conditions that podctl sets\n" +
			"itself, such as Ready, cannot be set. They last until the pod is stopped or replaced, also if podctl is restarted,\n" +
			"and count more than status.conditions of the manifest.\n\n" +
			"   podctl condition web example.com/registered=True --reason Registered",
		Flags: []cli.Flag{
			namespaceFlag(),
			&cli.StringFlag{Name: "reason", Usage: "`REASON` of the conditions, one word"},
			&cli.StringFlag{Name: "message", Usage: "`MESSAGE` of the conditions"},
		},
		Action: func(c *cli.Context) error {
			o, err := readCondition(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runCondition(ctx, e, o) })
		},
	}
}

var conditionStatuses = []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}

func readCondition(c *cli.Context) (o conditionOptions, err error) {
	o = conditionOptions{Globals: shell.ReadGlobals(c), namespace: c.String("namespace")}
	words := c.Args().Slice()
	if len(words) > 2 && pod.IsPodKind(words[0]) {
		words = words[1:]
	}
	if len(words) < 2 {
		return o, &shell.UsageError{Message: "a pod and a condition are needed", Advice: "podctl condition POD example.com/registered=True"}
	}
	o.name = words[0]
	if namespace, name, ok := strings.Cut(o.name, "/"); ok {
		o.namespace, o.name = namespace, name
	}
	for _, word := range words[1:] {
		set := v1.PodCondition{Reason: c.String("reason"), Message: c.String("message")}
		kind, status, given := strings.Cut(word, "=")
		removed, removes := strings.CutSuffix(word, "-")
		advice := "podctl condition " + words[0] + " " + kind + "=True"
		switch {
		case given && slices.Contains(conditionStatuses, v1.ConditionStatus(status)):
			set.Type, set.Status = v1.PodConditionType(kind), v1.ConditionStatus(status)
		case given && status != "":
			return o, &shell.UsageError{Message: fmt.Sprintf("status %q is not True, False or Unknown", status), Advice: advice}
		case !given && removes:
			set = v1.PodCondition{Type: v1.PodConditionType(removed)}
		default:
			return o, &shell.UsageError{Message: fmt.Sprintf("%q is not TYPE=STATUS or TYPE-", word), Advice: advice}
		}
		o.conditions = append(o.conditions, set)
	}
	return o, nil
}

// runCondition asks every podctl process for the pod.
func runCondition(ctx context.Context, e *shell.Env, o conditionOptions) error {
	clients, err := shell.LivePodctls(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	var errs []error
	for _, condition := range o.conditions {
		errs = append(errs, setCondition(ctx, e, clients, o, condition))
	}
	return errors.Join(errs...)
}

func setCondition(ctx context.Context, e *shell.Env, clients []*control.Client, o conditionOptions, condition v1.PodCondition) error {
	display := pod.DisplayName(o.namespace, o.name)
	by, err := askManager(clients, display, func(c *control.Client) error { return c.SetCondition(ctx, o.namespace, o.name, condition) })
	switch {
	case err != nil:
		return err
	case condition.Status == "":
		fmt.Fprintf(e.Out, "%s condition %s removed by %s\n", display, condition.Type, by)
	default:
		fmt.Fprintf(e.Out, "%s condition %s=%s set by %s\n", display, condition.Type, condition.Status, by)
	}
	return nil
}
