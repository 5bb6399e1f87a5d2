package run

import (
	"time"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/node/gc"
	"github.com/podctl/podctl/internal/node/logrotate"
	"github.com/podctl/podctl/internal/serve/daemon"
)

// The kubelet's defaults (pkg/kubelet/apis/config/v1beta1/defaults.go,
// cmd/kubelet/app/options); it has none for a scan.
const (
	defaultHigh, defaultLow = 85, 80
	defaultImageAge         = 2 * time.Minute
	defaultLogSize          = "10Mi"
	defaultLogFiles         = 5
	defaultScanPeriod       = 30 * time.Second
)

// housekeepingFlags are the flags of readHousekeeping.
func housekeepingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "adopt-runtime", Value: "no", DefaultText: "no", Usage: "`POLICY` for pods of the runtime without an owner: no leaves them, kill terminates them as the kubelet does; pods of living podctl processes and those that a kubelet created are never touched"},
		&cli.IntFlag{Name: "image-gc-high-threshold", Value: defaultHigh, Usage: "remove unused images from this disk usage on, in `PERCENT`; 100 disables it"},
		&cli.IntFlag{Name: "image-gc-low-threshold", Value: defaultLow, Usage: "remove unused images down to this disk usage, in `PERCENT`"},
		&cli.DurationFlag{Name: "minimum-image-ttl-duration", Value: defaultImageAge, Usage: "keep unused images for at least this `DURATION`"},
		&cli.DurationFlag{Name: "minimum-container-ttl-duration", Usage: "keep dead containers for at least this `DURATION`"},
		&cli.IntFlag{Name: "maximum-dead-containers-per-container", Value: 1, Usage: "keep at most this `NUMBER` of dead instances of each container"},
		&cli.IntFlag{Name: "maximum-dead-containers", Value: -1, Usage: "keep at most this `NUMBER` of dead containers in total", DefaultText: "unlimited"},
		&cli.StringFlag{Name: "container-log-max-size", Value: defaultLogSize, DefaultText: defaultLogSize, Usage: "rotate logs larger than `SIZE`; a negative size disables it"},
		&cli.DurationFlag{Name: "scan-period", Value: defaultScanPeriod, DefaultText: defaultScanPeriod.String(), Usage: "count orphans and stuck terminations for metrics every `DURATION`; 0 disables it"},
		&cli.IntFlag{Name: "container-log-max-files", Value: defaultLogFiles, Usage: "keep this `NUMBER` of log files for each container"},
	}
}

func readHousekeeping(c *cli.Context) (daemon.Housekeeping, error) {
	h := daemon.Housekeeping{
		Containers: gc.Policy{
			MinAge: c.Duration("minimum-container-ttl-duration"), MaxPerContainer: c.Int("maximum-dead-containers-per-container"),
			MaxContainers: c.Int("maximum-dead-containers"),
		},
		Images: gc.ImagePolicy{
			High: c.Int("image-gc-high-threshold"), Low: c.Int("image-gc-low-threshold"), MinAge: c.Duration("minimum-image-ttl-duration"),
		},
		Logs: logrotate.Policy{MaxFiles: c.Int("container-log-max-files")},
		Scan: c.Duration("scan-period"),
	}
	size, err := resource.ParseQuantity(c.String("container-log-max-size"))
	switch adopt := c.String("adopt-runtime"); {
	case adopt != "no" && adopt != "kill":
		return h, shell.Usagef("--adopt-runtime %q is neither no nor kill", adopt)
	case h.Images.High < 0 || h.Images.High > 100:
		return h, shell.Usagef("--image-gc-high-threshold %d is not between 0 and 100", h.Images.High)
	case h.Images.Low < 0 || h.Images.Low > 100:
		return h, shell.Usagef("--image-gc-low-threshold %d is not between 0 and 100", h.Images.Low)
	case h.Images.Low > h.Images.High:
		return h, shell.Usagef("--image-gc-low-threshold %d is above --image-gc-high-threshold %d", h.Images.Low, h.Images.High)
	case err != nil:
		return h, shell.Usagef("--container-log-max-size %q is not a size, such as 10Mi", c.String("container-log-max-size"))
	case h.Scan < 0:
		return h, shell.Usagef("--scan-period %s is negative", h.Scan)
	case h.Logs.MaxFiles < 2:
		return h, shell.Usagef("--container-log-max-files %d is less than 2", h.Logs.MaxFiles)
	}
	h.Logs.MaxSize = size.Value()
	return h, nil
}
