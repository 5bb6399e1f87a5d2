package main

import (
	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/node"
)

// driving is what commands that drive pods are asked for alike.
type driving struct {
	besideKubelet bool
	// cgroupDriver is "" for what the runtime says.
	cgroupDriver string
	// unsafeSysctls are those that pods may set beside the safe ones.
	unsafeSysctls []string
	keepLogs      bool
	// runtimeClasses maps names of runtime classes to handlers of the runtime.
	runtimeClasses map[string]string
	// listen is where metrics and health are served beside the control socket:
	// HOST:PORT, "" for nowhere.
	listen string
}

// drivingFlags are the flags of readDriving.
func drivingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "keep-logs", Usage: "leave the containers' log files"},
		&cli.BoolFlag{Name: "beside-kubelet", Usage: "start although a kubelet uses this runtime"},
		&cli.StringFlag{Name: "cgroup-driver", Usage: "`DRIVER` of pod cgroups: cgroupfs or systemd", DefaultText: "what the runtime says"},
		&cli.StringFlag{Name: "listen", DefaultText: "nowhere", Usage: "serve /metrics and /healthz at `HOST:PORT`, too"},
		runtimeClassFlag(),
		&cli.StringSliceFlag{Name: "allowed-unsafe-sysctls", Usage: "`SYSCTL` that pods may set beside the safe ones, or the beginning of some and a star; may be repeated"},
	}
}

func readDriving(c *cli.Context) (driving, error) {
	d := driving{
		besideKubelet: c.Bool("beside-kubelet"), cgroupDriver: c.String("cgroup-driver"),
		unsafeSysctls: c.StringSlice("allowed-unsafe-sysctls"), keepLogs: c.Bool("keep-logs"),
		listen: c.String("listen"),
	}
	if d.listen != "" && !isHostPort(d.listen) {
		return driving{}, usagef("--listen %q is no HOST:PORT", d.listen)
	}
	if d.cgroupDriver != "" && d.cgroupDriver != "cgroupfs" && d.cgroupDriver != "systemd" {
		return driving{}, usagef("--cgroup-driver %q is neither cgroupfs nor systemd", d.cgroupDriver)
	}
	if _, err := node.NewSysctls("", d.unsafeSysctls); err != nil {
		return driving{}, usagef("--allowed-unsafe-sysctls: %v", err)
	}
	var err error
	d.runtimeClasses, err = readRuntimeClasses(c)
	return d, err
}
