package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/serve/daemon"
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
			paths, err := host.DefaultPaths.With(shell.ReadGlobals(c).Given())
			if err != nil {
				return err
			}
			return list.UntilInterrupted(c.Context, e, func(ctx context.Context) error {
				return list.Show(ctx, e, "no Services: no podctl process has any", func(ctx context.Context) (output.List, error) {
					return listServices(ctx, filepath.Clean(paths.Locks), c.String("namespace"))
				})
			})
		},
	}
}

// listServices lists the Services of the process that serves, and those of the others that it does not have.
func listServices(ctx context.Context, runDir, namespace string) (output.List, error) {
	l := output.List{Header: []string{"SERVICE", "TYPE", "ADDRESS", "PORTS", "READY"}, Wide: []string{"ENDPOINTS"}}
	clients, err := daemon.FindPeers(runDir, "")
	if err != nil {
		return l, err
	}
	var views []services.View
	var errs []error
	for _, c := range clients {
		v, err := c.Services(ctx)
		if errs = append(errs, err); err == nil {
			views = append(views, v)
		}
	}
	if i := slices.IndexFunc(views, func(v services.View) bool { return v.Serving }); i > 0 {
		views[0], views[i] = views[i], views[0]
	}
	seen := map[string]bool{}
	for _, v := range views {
		for _, s := range v.Table {
			name := s.Namespace + "/" + s.Name
			if seen[name] && !v.Serving || namespace != "" && s.Namespace != namespace {
				continue
			}
			seen[name] = true
			s.Problem = cmp.Or(s.Problem, v.Problem)
			l.Items = append(l.Items, serviceItem(s))
		}
	}
	return l, errors.Join(errs...)
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
		text := fmt.Sprint(p.Port)
		if p.NodePort != 0 {
			text += fmt.Sprintf(":%d", p.NodePort)
		}
		ports = append(ports, text+"/"+string(p.Protocol))
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
	if s.Note != "" {
		item.Notes = append(item.Notes, s.Note)
	}
	return item
}
