package shell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/serve/daemon"
	"github.com/podctl/podctl/internal/services"
	"github.com/podctl/podctl/internal/sys/hint"
)

// ReadServices returns the Services of the podctl processes of this host, see daemon.ReadServices.
func ReadServices(g Globals) ([]services.Service, error) {
	paths, err := host.DefaultPaths.With(g.Given())
	if err != nil {
		return nil, err
	}
	return daemon.ReadServices(paths.Locks)
}

// throughServices replaces the words that name a Service, svc/[NAMESPACE/]NAME, by the pods behind it: all that
// are ready where a command takes several, else the first. Ports become those of that pod.
func throughServices(g Globals, args cmdline.Args, words []string) ([]string, error) {
	if !slices.ContainsFunc(words, isService) {
		return words, nil
	}
	all, err := ReadServices(g)
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
func SplitServices(g Globals, words []string) (named []services.Service, pods []string, err error) {
	if !slices.ContainsFunc(words, isService) {
		return nil, words, nil
	}
	all, err := ReadServices(g)
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
		// A process of another version may have reported fewer ports than the Service has.
		if remote != fmt.Sprint(p.Port) && remote != p.Name || i >= len(e.Ports) || e.Ports[i] == 0 {
			continue
		}
		if !both {
			local = fmt.Sprint(p.Port)
		}
		return fmt.Sprintf("%s:%d", local, e.Ports[i])
	}
	return pair
}
