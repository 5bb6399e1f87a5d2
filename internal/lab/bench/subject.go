package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Subject is a runtime, or one handler of it, that is measured.
type Subject struct {
	Name  string
	Pods  *PodMaker
	Calls *Calls // the observer of the client
	// Exec is a command that ends at once, nil if the image is not known to have one; it is
	// set by Run, as is the command of Pods.
	Exec []string

	exits *Exits
}

// NewSubject returns a subject whose exits are watched until ctx ends.
func NewSubject(ctx context.Context, name string, pods *PodMaker, calls *Calls) *Subject {
	return &Subject{Name: name, Pods: pods, Calls: calls, exits: WatchExits(ctx, pods.Client)}
}

// PollsExits reports whether exits are polled, since the runtime has no events for podctl.
func (s *Subject) PollsExits() bool { return s.exits.Polled }

func (s *Subject) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.Name, err)
}

// programs are commands that run until they are killed, each with one that ends at once:
// those of images with a shell, and of the image of sandboxes.
var programs = []struct{ run, exec []string }{
	{[]string{"sleep", "2147483647"}, []string{"true"}},
	{[]string{"/pause"}, []string{"/pause", "-v"}},
}

// execTimeout bounds an exec, and what is started to see whether the image has a program.
const execTimeout = 5 * time.Second

// warmUp finds out which of the programs the image has, by the first pods, which no
// measurement counts.
func (s *Subject) warmUp(ctx context.Context) error {
	var errs []error
	for _, program := range programs {
		s.Pods.Command = program.run
		p, err := s.Pods.Start(ctx, 0)
		if err != nil {
			errs = append(errs, err)
			if cri.MissingCommand(err.Error()) == "" {
				break
			}
			continue
		}
		if r, err := s.Pods.Client.ExecSync(ctx, p.ContainerID, program.exec, execTimeout); err == nil && r.ExitCode == 0 {
			s.Exec = program.exec
		}
		return s.Pods.Remove(ctx, p)
	}
	return fmt.Errorf("start a pod of %s: %w", s.Pods.Image, errors.Join(errs...))
}

// ChooseImage returns an image of a runtime that has one of the programs, as far as names
// tell; sandboxImage is the runtime's image of sandboxes, "" if it does not name it.
func ChooseImage(images []*pod.Image, sandboxImage string) (string, error) {
	var pause, shell []string
	for _, i := range images {
		for _, tag := range i.RepoTags {
			repository, _, _ := strings.Cut(tag[strings.LastIndex(tag, "/")+1:], ":")
			switch {
			case repository == "busybox" || repository == "alpine":
				shell = append(shell, tag)
			case repository == "pause" || tag == sandboxImage:
				pause = append(pause, tag)
			}
		}
	}
	slices.Sort(shell)
	slices.Sort(pause)
	chosen := cmp.Or(firstOrEmpty(shell), firstOrEmpty(pause))
	if chosen == "" {
		return "", hint.With(errors.New("the runtime holds no image that is known to run: busybox, alpine or pause"), "--image NAME of one that has sleep, or /pause")
	}
	return chosen, nil
}

func firstOrEmpty(of []string) string {
	if len(of) == 0 {
		return ""
	}
	return of[0]
}
