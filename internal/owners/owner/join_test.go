package owner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/podctl/podctl/internal/sys/proc"
)

var here = Runtime{Endpoint: "unix:///run/a.sock", Name: "containerd", Storage: "/var/lib/images", File: "1:2"}

// through is the same runtime by a proxy.
func through(r Runtime) Runtime {
	r.Endpoint = "unix:///run/proxy.sock"
	return r
}

func join1(t *testing.T, run, id, instance string, r Runtime) *Locks {
	t.Helper()
	l, err := Join(t.Context(), JoinOptions{Run: run, ID: id, Instance: instance, Runtime: r, Procs: proc.Default})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestRuntimesAreTheSameByTheDirectoryOfTheirImages(t *testing.T) {
	unseen, other, moved := here, here, here
	unseen.File, other.File, moved.Storage = "", "1:3", "/elsewhere"
	crio := Runtime{Name: "cri-o", Storage: here.Storage, File: here.File}
	bothUnseen := here
	bothUnseen.File = ""
	for _, c := range []struct {
		name string
		a, b Runtime
		same bool
	}{
		{"by a proxy", here, through(here), true},
		{"by a proxy in a container", here, unseen, true},
		{"in a container of its own", here, other, false},
		{"with other images", here, moved, false},
		{"another program", here, crio, false},
		{"not seen from here", bothUnseen, unseen, false},
		{"unknown", Runtime{}, Runtime{}, false},
	} {
		if c.a.Same(c.b) != c.same || c.b.Same(c.a) != c.same {
			t.Errorf("%s: want %v", c.name, c.same)
		}
	}
}

// A process that reaches a runtime by a proxy has the locks of those that reach it
// directly, so that a name has one holder.
func TestJoinUsesTheLocksOfALivingInstanceOfTheSameRuntime(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	a := join1(t, run, "direct", "agent", here)
	b := join1(t, run, "proxy", "run-b", through(here))
	if b.Dir() != a.Dir() || b.Runtime() != "direct" {
		t.Errorf("joined %s", b.Dir())
	}
	var held *HeldError
	if err := errors.Join(a.Claim("web_default"), b.Claim("web_default")); !errors.As(err, &held) || held.Owner != "agent" || held.Endpoint != here.Endpoint {
		t.Errorf("%v", err)
	}
	if _, err := Join(t.Context(), JoinOptions{Run: run, ID: "proxy", Instance: "agent", Runtime: through(here), Procs: proc.Default}); !errors.As(err, &held) || held.Endpoint != here.Endpoint {
		t.Errorf("a second agent: %v", err)
	}
	other := here
	other.Storage, other.File = "/var/lib/others", "1:9"
	c := join1(t, run, "other", "agent", other)
	if c.Dir() != filepath.Join(run, "other") {
		t.Errorf("another runtime joined %s", c.Dir())
	}
	if err := errors.Join(a.Close(), b.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	// No instance lives: the id is that of the endpoint.
	d := join1(t, run, "proxy", "agent", through(here))
	if d.Runtime() != "proxy" {
		t.Errorf("joined %s", d.Dir())
	}
	e := join1(t, run, "direct", "run-e", here)
	if e.Runtime() != "proxy" {
		t.Errorf("joined %s", e.Dir())
	}
	if err := errors.Join(d.Close(), e.Close()); err != nil {
		t.Error(err)
	}
}

func TestProcessesThatJoinAtTheSameTimeShareOneDirectory(t *testing.T) {
	run := t.TempDir()
	var joined [8]*Locks
	var wg sync.WaitGroup
	for i := range joined {
		wg.Go(func() {
			id := string(rune('a' + i))
			var err error
			if joined[i], err = Join(t.Context(), JoinOptions{Run: run, ID: id, Instance: "run-" + id, Runtime: here, Procs: proc.Default}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, l := range joined {
		if l.Dir() != joined[0].Dir() {
			t.Errorf("%s and %s", l.Dir(), joined[0].Dir())
		}
	}
	for _, l := range joined {
		_ = l.Close()
	}
}

func TestJoinEndsWithItsContextWhileAnotherJoins(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := tryFlock(other); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Join(ctx, JoinOptions{Run: run, ID: "id", Instance: "agent", Procs: proc.Default}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Two processes of one name, and of one pid, have different ids; a lock of an
// earlier version has a name only.
func TestHoldersAreToldApartByTheirIDs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "id")
	ids := map[string]bool{}
	for range 3 {
		l, err := Open(dir, "agent", proc.Default)
		if err != nil {
			t.Fatal(err)
		}
		ids[l.ID()] = true
		living, err := LiveInstances(dir)
		if err != nil || len(living) != 1 || living[0].ID != l.ID() || !strings.HasPrefix(l.ID(), "agent/") {
			t.Errorf("%v, %v, id %q", living, err, l.ID())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(ids) != 3 {
		t.Errorf("ids %v", ids)
	}
	a, b := newHolder("agent", here, proc.Default), newHolder("agent", here, proc.Default)
	if a.Is("agent", b.ID) || !a.Is("agent", a.ID) || !a.Is("agent", "") {
		t.Error("a holder is told by its id, and by its name where there is none")
	}
	for text, want := range map[string]Holder{"agent\n": {Name: "agent"}, "": {}, "agent\n{\"id\":": {Name: "agent"}, a.text(): a} {
		if got := parseHolder(text); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
