package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/serve/daemon"
	"github.com/podctl/podctl/internal/services"
	"github.com/podctl/podctl/internal/sys/hint"
)

// ReadServices returns the Services of the podctl process that serves, and those that the others do not get
// served. With an error, those of the processes that answer.
func ReadServices(ctx context.Context, g Globals) (all []services.Service, err error) {
	paths, err := host.DefaultPaths.With(g.Given())
	if err != nil {
		return nil, err
	}
	clients, err := daemon.FindPeers(paths.Locks, "")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // no podctl process has been there
		return nil, err
	}
	views, failed := askForServices(ctx, clients)
	if i := slices.IndexFunc(views, func(v services.View) bool { return v.Serving }); i >= 0 {
		views[0], views[i] = views[i], views[0]
		// What a process said last that does not answer is in the table of the one that serves.
		maps.DeleteFunc(failed, func(name string, _ error) bool { return !slices.Contains(views[0].Unheard, name) })
	}
	seen := map[string]bool{}
	for _, v := range views {
		for _, s := range v.Table {
			if name := s.Namespace + "/" + s.Name; !seen[name] || v.Serving {
				seen[name] = true
				s.Problem = cmp.Or(s.Problem, v.Problem)
				all = append(all, s)
			}
		}
	}
	return all, errors.Join(slices.Collect(maps.Values(failed))...)
}

// servicesTimeout bounds the answers of all podctl processes, which come from memory.
const servicesTimeout = 2 * time.Second

// askForServices asks the processes at the same time. It returns the answers, and the errors by instance.
func askForServices(ctx context.Context, clients map[string]*control.Client) (views []services.View, failed map[string]error) {
	ctx, cancel := context.WithTimeout(ctx, servicesTimeout)
	defer cancel()
	failed = map[string]error{}
	var mu sync.Mutex
	var asking errgroup.Group
	asking.SetLimit(32)
	for _, c := range clients {
		asking.Go(func() error {
			v, err := c.Services(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[c.Instance()] = err
			} else {
				views = append(views, v)
			}
			return nil
		})
	}
	_ = asking.Wait() // returns no error
	return views, failed
}

// throughServices replaces the words that name a Service, svc/[NAMESPACE/]NAME, by the pods behind it: all that
// are ready where a command takes several, else the first. Ports become those of that pod.
func throughServices(ctx context.Context, g Globals, args cmdline.Args, words []string) ([]string, error) {
	if !slices.ContainsFunc(words, isService) {
		return words, nil
	}
	all, err := ReadServices(ctx, g)
	if err != nil {
		return nil, err
	}
	var replaced []string
	for i, word := range words {
		if !isService(word) {
			replaced = append(replaced, word)
			continue
		}
		s, err := serviceNamed(all, word)
		if err != nil {
			return nil, err
		}
		ready := slices.DeleteFunc(slices.Clone(s.Endpoints), func(e services.Endpoint) bool { return !e.Ready || e.Pod == "" })
		if len(ready) == 0 {
			return nil, fmt.Errorf("no pod behind the Service %q is ready: %s", s.Name, cmp.Or(s.Note, "its endpoints are no pods"))
		}
		if !args.Many {
			ready = ready[:1]
		}
		for _, e := range ready {
			replaced = append(replaced, s.Namespace+"/"+e.Pod)
		}
		if args.Rest == cmdline.Ports {
			for _, port := range words[i+1:] {
				replaced = append(replaced, throughPort(s, ready[0], port))
			}
			break
		}
	}
	return replaced, nil
}

// SplitServices returns the Services that words name, and the words with the pods behind those in their place,
// ready or not.
func SplitServices(ctx context.Context, g Globals, words []string) (named []services.Service, pods []string, err error) {
	if !slices.ContainsFunc(words, isService) {
		return nil, words, nil
	}
	all, err := ReadServices(ctx, g)
	if err != nil {
		return nil, nil, err
	}
	for _, word := range words {
		if !isService(word) {
			pods = append(pods, word)
			continue
		}
		s, err := serviceNamed(all, word)
		if err != nil {
			return nil, nil, err
		}
		named = append(named, *s)
		for _, e := range s.Endpoints {
			if e.Pod != "" {
				pods = append(pods, s.Namespace+"/"+e.Pod)
			}
		}
	}
	return named, pods, nil
}

func serviceNamed(all []services.Service, word string) (*services.Service, error) {
	name := word[strings.Index(word, "/")+1:]
	at := slices.IndexFunc(all, func(s services.Service) bool { return name == s.Name || name == s.Namespace+"/"+s.Name })
	if at < 0 {
		return nil, hint.Errorf("podctl services lists them", "no Service %q", name)
	}
	return &all[at], nil
}

func isService(word string) bool {
	kind, name, named := strings.Cut(word, "/")
	return named && name != "" && slices.Contains([]string{"svc", "service", "services"}, kind)
}

// throughPort returns a pair of ports to a pod for one to a Service; another word remains.
func throughPort(s *services.Service, e services.Endpoint, pair string) string {
	local, remote, both := strings.Cut(pair, ":")
	if !both {
		remote = local
	}
	for i, p := range s.Ports {
		if remote != fmt.Sprint(p.Port) && remote != p.Name || e.Ports[i] == 0 {
			continue
		}
		if !both {
			local = fmt.Sprint(p.Port)
		}
		return fmt.Sprintf("%s:%d", local, e.Ports[i])
	}
	return pair
}
