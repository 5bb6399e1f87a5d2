package pods

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/services"
)

func servicesCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "services",
		Aliases: []string{"svc", "service"},
		Usage:   "list the Services of podctl's pods, and what is behind them",
		Args:    cmdline.Args{},
		Effect:  cmdline.Reads,
		OnNodes: cmdline.NodeList,
		Data:    []any{services.Service{}, services.Port{}, services.Endpoint{}},
		Description: "Lists the Services of all podctl processes of this host, of any runtime, as the one that serves\n" +
			"them has them. READY counts the endpoints that get connections, and all. Below a Service stands\n" +
			"why nothing answers: no pod that its selector selects, pods that are not ready, an address or a\n" +
			"port that another Service has, or why Services are not served at all.\n" +
			"-o is " + output.Formats + ".",
		Flags: append([]cli.Flag{&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, DefaultText: "all", Usage: "only Services of this `NAMESPACE`"}}, shell.ListFlags()...),
		Action: func(c *cli.Context) error {
			list, err := shell.ReadList(c)
			if err != nil {
				return err
			}
			return list.UntilInterrupted(c.Context, e, func(ctx context.Context) error {
				return list.Show(ctx, e, "no Services: no podctl process has any", func(context.Context) (output.List, error) {
					return listServices(shell.ReadGlobals(c), c.String("namespace"))
				})
			})
		},
	}
}

func listServices(g shell.Globals, namespace string) (output.List, error) {
	l := output.List{Header: []string{"SERVICE", "TYPE", "ADDRESS", "PORTS", "READY"}, Wide: []string{"ENDPOINTS"}}
	all, err := shell.ReadServices(g)
	for _, s := range all {
		if namespace == "" || s.Namespace == namespace {
			l.Items = append(l.Items, serviceItem(s))
		}
	}
	return l, err
}

func serviceItem(s services.Service) output.Item {
	ready, behind := 0, []string{}
	for _, e := range s.Endpoints {
		text := cmp.Or(e.Pod, "-") + "=" + e.Address
		if e.Ready {
			ready++
		} else {
			text += " (not ready)"
		}
		behind = append(behind, text)
	}
	var ports []string
	for _, p := range s.Ports {
		ports = append(ports, p.String())
	}
	count := fmt.Sprintf("%d/%d", ready, len(s.Endpoints))
	if s.ExternalName != "" {
		count = "-"
	}
	item := output.Item{
		Name:  s.Namespace + "/" + s.Name,
		Cells: []string{s.Namespace + "/" + s.Name, string(s.Type), cmp.Or(s.Address, s.ExternalName), cmp.Or(strings.Join(ports, ","), "-"), count},
		Wide:  []string{cmp.Or(strings.Join(behind, ","), "-")}, Data: s,
	}
	if s.Problem != "" {
		item.Notes = append(item.Notes, "not served: "+s.Problem)
	}
	for _, note := range []string{s.Note, s.Stale} {
		if note != "" {
			item.Notes = append(item.Notes, note)
		}
	}
	return item
}
