package run

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/credential"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/serve/daemon"
	"github.com/podctl/podctl/internal/services"
	"github.com/podctl/podctl/internal/sys/hint"
)

// runtimeOptions are the options of every command that runs pods.
type runtimeOptions struct {
	besideKubelet, ownerIsGone bool
	// unsafeSysctls are those that pods may set in addition to the safe ones.
	unsafeSysctls []string
	keepLogs      bool
	// runtimeClasses maps names of runtime classes to handlers of the runtime.
	runtimeClasses map[string]string
	// listen is where metrics and health are served beside the control socket:
	// HOST:PORT, "" for nowhere.
	listen string
	// resolver reads the resolver configuration that pods inherit.
	resolver host.Resolver
	// services has the addresses of Services; the zero value serves none.
	services netip.Prefix
	// capacity and reserved bound what pods may request; nil and nil do not.
	capacity, reserved v1.ResourceList
	// credentials are what images are pulled with beside the pods' own.
	credentials credential.Config
}

// options completes the options of a daemon with the shared ones.
func (d runtimeOptions) options(e *shell.Env, g shell.Globals, o daemon.Options) daemon.Options {
	o.ConnectOptions, o.Paths, o.CgroupRoot, o.CgroupDriver = g.ConnectOptions(e), g.Given(), g.CgroupRoot, g.CgroupDriver
	o.BesideKubelet, o.OwnerIsGone, o.UnsafeSysctls = d.besideKubelet, d.ownerIsGone, d.unsafeSysctls
	o.KeepLogs, o.RuntimeClasses, o.Address = d.keepLogs, d.runtimeClasses, d.listen
	o.Capacity, o.Reserved, o.Resolver = d.capacity, d.reserved, d.resolver
	o.ServiceRange, o.WarnServices = d.services, func(err error) {
		fmt.Fprintln(e.Errw, "warning: Services are not served:", err)
		if advice := hint.Of(err); advice != "" {
			fmt.Fprintln(e.Errw, "  hint:", advice)
		}
	}
	o.Listen, o.Dial, o.Procs, o.Now, o.Credentials = e.Listen, e.Dial, e.Procs, e.Now, d.credentials
	return o
}

// isHostPort reports whether an address can be listened on.
func isHostPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// runtimeFlags are the flags of readRuntimeOptions.
func runtimeFlags() []cli.Flag {
	return append(shell.CredentialFlags(),
		&cli.BoolFlag{Name: "keep-logs", Usage: "keep the containers' log files"},
		&cli.BoolFlag{Name: "beside-kubelet", Usage: "start even if a kubelet uses this runtime"},
		shell.OwnerIsGoneFlag(),
		&cli.StringFlag{Name: "listen", DefaultText: "none", Usage: "also serve /metrics, /healthz and /readyz at `HOST:PORT`"},
		&cli.GenericFlag{Name: "capacity", Value: &cmdline.ResourceList{}, DefaultText: "unlimited", Usage: "reject pods that request more than this machine's capacity, with the amounts of `LIST` in place of the detected ones: cpu=4,memory=8Gi,pods=110"},
		&cli.GenericFlag{Name: "reserved", Value: &cmdline.ResourceList{}, DefaultText: "none", Usage: "`LIST` of amounts to subtract from the capacity: cpu=500m,memory=1Gi"},
		&cli.StringFlag{Name: "resolv-conf", DefaultText: host.ResolvConf, Usage: "resolver configuration that pods inherit, a `FILE`; an empty name disables DNS lookups; by default systemd-resolved's upstream file if that is in use"},
		&cli.StringFlag{Name: "service-cidr", Value: services.DefaultRange.String(), DefaultText: services.DefaultRange.String(), Usage: "range of the addresses of Services, an IPv4 `CIDR`; none serves no Services"},
		runtimeClassFlag(),
		&cli.StringSliceFlag{Name: "allowed-unsafe-sysctls", DefaultText: "none", Usage: "allow pods to set this `SYSCTL`, or all with a prefix: net.core.*; repeatable"},
	)
}

func readRuntimeOptions(c *cli.Context) (runtimeOptions, error) {
	d := runtimeOptions{
		besideKubelet: c.Bool("beside-kubelet"), ownerIsGone: c.Bool("owner-is-gone"),
		unsafeSysctls: c.StringSlice("allowed-unsafe-sysctls"), keepLogs: c.Bool("keep-logs"),
		listen: c.String("listen"), capacity: cmdline.Resources(c, "capacity"), reserved: cmdline.Resources(c, "reserved"),
	}
	if c.IsSet("resolv-conf") {
		file := c.String("resolv-conf")
		d.resolver.File = &file
	}
	if cidr := c.String("service-cidr"); cidr != "none" {
		var err error
		if d.services, err = netip.ParsePrefix(cidr); err != nil || !d.services.Addr().Is4() || d.services.Bits() < 8 || d.services.Bits() > 26 {
			return runtimeOptions{}, shell.Usagef("--service-cidr %q is neither an IPv4 range of 64 addresses or more, such as %s, nor none", cidr, services.DefaultRange)
		}
		d.services = d.services.Masked()
	}
	if d.listen != "" && !isHostPort(d.listen) {
		return runtimeOptions{}, shell.Usagef("--listen %q is not HOST:PORT", d.listen)
	}
	if err := checkCgroupDriver(shell.ReadGlobals(c)); err != nil {
		return runtimeOptions{}, err
	}
	if _, err := admission.NewSysctls("", d.unsafeSysctls); err != nil {
		return runtimeOptions{}, shell.Usagef("--allowed-unsafe-sysctls: %v", err)
	}
	var err error
	if d.credentials, err = shell.ReadCredentials(c); err != nil {
		return runtimeOptions{}, err
	}
	d.runtimeClasses, err = readRuntimeClasses(c)
	return d, err
}

func checkCgroupDriver(g shell.Globals) error {
	if d := cgroup.Driver(g.CgroupDriver); d != "" && d != cgroup.Cgroupfs && d != cgroup.Systemd {
		return shell.Usagef("--cgroup-driver %q is neither %s nor %s", d, cgroup.Cgroupfs, cgroup.Systemd)
	}
	return nil
}

const runtimeClassFlagName = "runtime-class"

// runtimeClassFlag is a flag of the commands that create sandboxes.
func runtimeClassFlag() cli.Flag {
	return &cli.StringSliceFlag{
		Name:        runtimeClassFlagName,
		Usage:       "runtime handler of a runtime class, `CLASS=HANDLER`; repeatable",
		DefaultText: "the class's name",
	}
}

// readRuntimeClasses returns the handlers by class.
func readRuntimeClasses(c *cli.Context) (map[string]string, error) {
	classes := map[string]string{}
	for _, value := range c.StringSlice(runtimeClassFlagName) {
		name, handler, ok := strings.Cut(value, "=")
		if !ok || name == "" || handler == "" {
			return nil, shell.Usagef("--%s %q is not CLASS=HANDLER", runtimeClassFlagName, value)
		}
		if other, twice := classes[name]; twice && other != handler {
			return nil, shell.Usagef("--%s: class %q has both %q and %q", runtimeClassFlagName, name, other, handler)
		}
		classes[name] = handler
	}
	return classes, nil
}
