package program

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// versionTimeout bounds the answer of the runtime to `podctl version`.
const versionTimeout = 2 * time.Second

func versionCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:        "version",
		Usage:       "print the versions of podctl and of the runtime",
		Effect:      cmdline.Reads,
		OnRecording: true,
		OnNodes:     cmdline.NodeOrHere,
		Data:        []any{versionData{}, shell.PodctlVersion{}, runtimeVersion{}, recordedVersion{}},
		Description: "The runtime's version is missing if it does not answer within " + versionTimeout.String() + "; that is a warning, not an\n" +
			"error. -o is " + output.Formats + ".",
		Flags: []cli.Flag{shell.NoHeadersFlag()},
		Action: func(c *cli.Context) error {
			g := shell.ReadGlobals(c)
			format, err := shell.ReadOutput(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runVersion(ctx, e, g, format) })
		},
	}
}

// versionData is the answer of `podctl version`.
type versionData struct {
	Podctl       shell.PodctlVersion `json:"podctl"`                 // this program
	Runtime      *runtimeVersion     `json:"runtime,omitempty"`      // the CRI runtime, if it answers
	RuntimeError string              `json:"runtimeError,omitempty"` // why it does not
}

// runtimeVersion is the version of a CRI runtime.
type runtimeVersion struct {
	Name     string `json:"name"`     // containerd, cri-o
	Version  string `json:"version"`  // of the runtime
	API      string `json:"api"`      // of the CRI: v1
	Endpoint string `json:"endpoint"` // where it was asked
	// of a recording
	Recorded *recordedVersion `json:"recorded,omitempty"`
}

// recordedVersion says where a recording is from.
type recordedVersion struct {
	Host   string    `json:"host"`   // name of the node
	Time   time.Time `json:"time"`   // end of the recording
	Podctl string    `json:"podctl"` // version of the podctl that recorded it
}

// detail is what the table says of a runtime.
func (r *runtimeVersion) detail() string {
	text := "CRI " + r.API + " at " + r.Endpoint
	if at := r.Recorded; at != nil {
		text += fmt.Sprintf(", recorded on %s at %s by podctl %s", at.Host, at.Time.Format("2006-01-02 15:04:05 MST"), at.Podctl)
	}
	return text
}

func runVersion(ctx context.Context, e *shell.Env, g shell.Globals, format output.Format) error {
	d := versionData{Podctl: shell.ThisVersion()}
	var err error
	if d.Runtime, err = askVersion(ctx, e, g); err != nil {
		d.RuntimeError = err.Error()
		fmt.Fprintf(e.Errw, "warning: %v\n", err)
	}
	format.Width = e.TableWidth(g.NoTrunc)
	l := output.List{Header: []string{"COMPONENT", "VERSION", "DETAIL"}}
	l.Items = append(l.Items, output.Item{Name: "podctl", Cells: []string{"podctl", d.Podctl.Version,
		d.Podctl.Detail()}})
	if r := d.Runtime; r != nil {
		l.Items = append(l.Items, output.Item{Name: r.Name, Cells: []string{r.Name, r.Version, r.detail()}})
	}
	if format.IsTable() || format.Name() == "name" {
		return format.Print(e.Out, l)
	}
	return format.PrintObject(e.Out, nil, output.Item{Name: "podctl", Data: d})
}

func askVersion(ctx context.Context, e *shell.Env, g shell.Globals) (*runtimeVersion, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	client, disconnect, err := shell.Connect(ctx, e, g)
	if err != nil {
		return nil, err
	}
	defer disconnect()
	v, err := client.Version(ctx)
	if err != nil {
		return nil, err
	}
	answer := &runtimeVersion{Name: v.Name, Version: v.Version, API: v.APIVersion, Endpoint: client.Endpoint().Runtime}
	if e.Recording != nil {
		h := e.Recording.Header
		answer.Recorded = &recordedVersion{h.Host, h.Time, h.Podctl}
	}
	return answer, nil
}
