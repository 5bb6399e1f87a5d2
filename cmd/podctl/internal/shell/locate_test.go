package shell

import (
	"slices"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
)

// A command line with other arguments has the flags of the first one.
func TestWithArgsKeepsFlags(t *testing.T) {
	timeout := func() []cli.Flag {
		return []cli.Flag{&cli.DurationFlag{Name: "timeout"}, &cli.StringSliceFlag{Name: "label"}, &cli.BoolFlag{Name: "quiet"}}
	}
	ran := false
	app := &cli.App{Flags: timeout(), Commands: []*cli.Command{{Name: "exec", Flags: timeout(), Action: func(c *cli.Context) error {
		other, err := withArgs(c, []string{"id", "--", "echo", "--timeout", "-q"})
		if err != nil {
			return err
		}
		ran = true
		if got := other.Args().Slice(); !slices.Equal(got, []string{"id", "--", "echo", "--timeout", "-q"}) {
			t.Errorf("arguments %q", got)
		}
		if other.Duration("timeout") != time.Second || !other.IsSet("timeout") || !slices.Equal(other.StringSlice("label"), []string{"a", "b"}) || other.IsSet("quiet") || other.Command.Name != "exec" {
			t.Errorf("flags %s %q", other.Duration("timeout"), other.StringSlice("label"))
		}
		if CallTimeout(other) != time.Minute || CallTimeout(c) != time.Minute {
			t.Errorf("timeout of calls %s", CallTimeout(other))
		}
		return nil
	}}}}
	if err := app.Run([]string{"podctl", "--timeout", "1m", "exec", "--timeout", "1s", "--label", "a", "--label", "b", "pid:1"}); err != nil || !ran {
		t.Errorf("%v, ran %t", err, ran)
	}
}

func TestCutPlace(t *testing.T) {
	for word, want := range map[string][2]string{
		"pid:12:/etc/hosts": {"pid:12", ":/etc/hosts"}, "ip:10.0.0.1:a:b": {"ip:10.0.0.1", ":a:b"}, "ip:[fd00::1]:/a": {"ip:[fd00::1]", ":/a"},
		"pid:hosts": {"pid:hosts", ""}, "pid::x": {"pid::x", ""}, "cgroup:/a/b:c": {"cgroup:/a/b", ":c"},
	} {
		if property, path := cutPlace(word); property != want[0] || path != want[1] {
			t.Errorf("%s: %q %q, want %q", word, property, path, want)
		}
	}
}
