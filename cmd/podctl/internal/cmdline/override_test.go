package cmdline

import (
	"slices"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestACommandsFlagWinsOverAGlobalOne(t *testing.T) {
	shared := []cli.Flag{
		&cli.StringFlag{Name: "image-endpoint", Aliases: []string{"i"}}, &cli.DurationFlag{Name: "timeout"},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}},
	}
	own := []cli.Flag{&cli.BoolFlag{Name: "stdin", Aliases: []string{"i"}}, &cli.DurationFlag{Name: "timeout"}}
	if got, want := FlagNames(Besides(shared, own)), []string{"image-endpoint", "verbose", "v"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
