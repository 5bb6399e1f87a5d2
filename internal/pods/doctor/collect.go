package doctor

import (
	"cmp"
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/leak"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
)

// Options of Collect.
type Options struct {
	// Client is connected to the runtime; nil with ConnectErr.
	Client     *cri.Client
	ConnectErr error
	// View reads the pods; Podctls are the living podctl processes on the runtime.
	View    *view.Reader
	Podctls []string
	// Leaks looks for what has leaked.
	Leaks *leak.Finder
	// CgroupDriver is the one that the user gave, "" for the runtime's.
	CgroupDriver string
	// Podctl is the version of this program.
	Podctl string
	// Dirs are podctl's directories, by what is kept there.
	Dirs []Disk
	Now  func() time.Time
}

const (
	// eventsTimeout bounds the wait for the event stream.
	eventsTimeout = 2 * time.Second
	// quiet is how long a stream that was opened has to last: CRI-O without events ends
	// it at once.
	quiet = 200 * time.Millisecond
)

// Collect reads all facts.
func Collect(ctx context.Context, o Options) Facts {
	f := Facts{Now: o.Now(), IsRoot: os.Geteuid() == 0, Podctl: o.Podctl, Runtime: Runtime{Err: o.ConnectErr}, Pods: Pods{Podctls: o.Podctls}}
	var reading sync.WaitGroup
	if o.Client != nil {
		f.Runtime.Endpoint, f.Runtime.Version = o.Client.Endpoint().Runtime, o.Client.Connected()
		f.Runtime.Server = serverOf(o.Client.Endpoint())
	}
	server := f.Runtime.Server.PID
	reading.Go(func() { f.Host = readHost(server) })
	if o.Client != nil {
		reading.Go(func() { f.Kubelet = readKubelet(ctx, f.Runtime.Endpoint) })
		reading.Go(func() { f.Runtime.Probed, f.Runtime.Events = probeEvents(ctx, o.Client) })
		o.readRuntime(ctx, &f)
		o.readPods(ctx, &f)
	}
	o.readDisks(ctx, &f)
	reading.Wait()
	return f
}

// readRuntime asks the runtime about itself.
func (o Options) readRuntime(ctx context.Context, f *Facts) {
	r := &f.Runtime
	r.GivenDriver = o.CgroupDriver
	r.Status, r.StatusErr = o.Client.Status(ctx)
	r.Drivers, r.DriverErr = o.Client.CgroupDrivers(ctx)
	shown, err := o.Client.RuntimeConfig(ctx)
	if err != nil {
		return // as the status
	}
	r.Config = newConfig(shown)
	if r.Config.CNI.Shown {
		r.Config.CNI.find(r.Server.PID)
	}
}

// probeEvents opens the event stream, unless that takes events from others.
func probeEvents(ctx context.Context, client *cri.Client) (probed bool, err error) {
	if !client.Connected().BroadcastsEvents() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, eventsTimeout)
	defer cancel()
	opened := false
	err = client.Notices(ctx, func() {
		opened = true
		time.AfterFunc(quiet, cancel)
	}, func(pod.Notice) {})
	if opened && ctx.Err() != nil {
		return true, nil
	}
	return true, err
}

func readKubelet(ctx context.Context, endpoint string) Kubelet {
	p, err := kubelet.Find(ctx, endpoint)
	if p == nil {
		return Kubelet{Err: err}
	}
	k := Kubelet{PID: p.PID, SettingsErr: p.SettingsErr, CgroupDriver: p.CgroupDriver()}
	if p.SettingsErr != nil {
		return k
	}
	k.RootDir, k.ConfigFile, k.StaticPods = p.RootDir(), p.ConfigFile(), p.StaticPods()
	a := p.Ask(ctx, kubelet.Question{})
	k.Server, k.Credential, k.PodCount, k.AskErr = a.By.URL, a.By.Credential.String(), len(a.Pods), a.Err
	return k
}

// readPods lists the pods, and looks for what others left.
func (o Options) readPods(ctx context.Context, f *Facts) {
	all, err := o.View.Pods(ctx, o.Client)
	if f.Pods.Err = err; err != nil {
		return
	}
	for _, p := range all {
		if p.HangsStarting(o.Now()) {
			f.Pods.Hanging = append(f.Pods.Hanging, p.DisplayName())
		}
		if p.Runtime == nil {
			continue
		}
		f.Pods.Count++
		switch {
		case p.RunningContainers() > 0:
			f.Pods.Running++
		case !p.SandboxReady() && !p.Runtime.MayBeRunning():
			f.Pods.Dead++
		}
		if p.Abandoned() && !p.Managed() {
			f.Pods.Abandoned = append(f.Pods.Abandoned, p.DisplayName())
		}
		if sandboxes, _ := p.Runtime.Superseded(); len(sandboxes) > 0 {
			f.Pods.Doubled = append(f.Pods.Doubled, p.DisplayName())
		}
		if p.RunningContainers() > 0 && !p.SandboxReady() {
			f.Pods.Headless = append(f.Pods.Headless, p.DisplayName())
		}
	}
	if o.View != nil {
		for _, g := range o.View.DeniedLately(f.Now.Add(-time.Hour)) {
			f.Pods.Denied = append(f.Pods.Denied, g.Text(f.Now))
		}
		for _, p := range o.View.TakenPorts(ctx, all) {
			for _, taken := range p.TakenPorts {
				f.Pods.TakenPorts = append(f.Pods.TakenPorts, p.DisplayName()+": "+why.TakenPortText(taken))
			}
		}
		broken := o.View.BrokenProcesses(ctx, all)
		for _, p := range all {
			for _, c := range p.ListedContainers() {
				if b := broken[c.ID]; b != nil {
					text, next := why.BrokenText(p.CLIName(), b)
					f.Pods.Broken, f.Pods.BrokenNext = append(f.Pods.Broken, p.DisplayName()+": "+text), cmp.Or(f.Pods.BrokenNext, strings.Join(next, " · "))
				}
			}
		}
	}
	f.Pods.Leaks, f.Pods.LeaksErr = o.Leaks.Find(ctx, nil)
}

// readDisks reads the file systems of the images and of podctl's directories.
func (o Options) readDisks(ctx context.Context, f *Facts) {
	disks := o.Dirs
	if o.Client != nil {
		if dir, err := o.Client.ImageFilesystem(ctx); err == nil && dir != "" {
			disks = append([]Disk{{What: "images", Path: dir}}, disks...)
		}
	}
	for _, d := range disks {
		f.Disks = append(f.Disks, readDisk(d))
	}
}
