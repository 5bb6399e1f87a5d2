package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/testkit/clustertest"
)

// kubectl is kubectl podctl on a cluster.
type kubectl struct {
	t      *testing.T
	server *clustertest.Server
	config string
	// interrupts are the user's.
	interrupts chan os.Signal
}

func onCluster(t *testing.T, o clustertest.Options) *kubectl {
	t.Helper()
	k := &kubectl{t: t, server: clustertest.Start(o), config: filepath.Join(t.TempDir(), "config"), interrupts: make(chan os.Signal, 1)}
	t.Cleanup(k.server.Close)
	if err := k.server.WriteKubeconfig(k.config); err != nil {
		t.Fatal(err)
	}
	return k
}

// podctl runs kubectl podctl.
func (k *kubectl) podctl(args ...string) (code int, stdout, stderr string) {
	return k.typed(nil, args...)
}

func (k *kubectl) typed(in io.Reader, args ...string) (code int, stdout, stderr string) {
	var out, errw screen
	level := &slog.LevelVar{}
	e := &shell.Env{
		In: in, Out: &out, Errw: &errw, Size: func() (int, int) { return 0, 0 }, Now: time.Now, Interrupts: k.interrupts,
		Log: slog.New(slog.DiscardHandler), Level: level,
	}
	code = runProgram(append([]string{"/usr/local/bin/kubectl-podctl", "--kubeconfig", k.config}, args...), e)
	return code, out.String(), errw.String()
}

// list is what a node prints with -o cells.
func list(pods ...string) string {
	type item = map[string]any
	items := []item{}
	for _, p := range pods {
		items = append(items, item{"name": p, "cells": []string{p, "3m"}, "data": item{"metadata": item{"name": p}}})
	}
	text, err := json.Marshal(item{"cellsVersion": 1, "header": []string{"POD", "SINCE"}, "items": items})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// prints is a node that prints text and exits.
func prints(code int, stdout, stderr string) func(*clustertest.Session) int {
	return func(s *clustertest.Session) int {
		_, _ = io.WriteString(s.Stdout, stdout)
		_, _ = io.WriteString(s.Stderr, stderr)
		return code
	}
}

// hangs is a node that prints and does not exit.
func hangs(stdout string) func(*clustertest.Session) int {
	return func(s *clustertest.Session) int {
		_, _ = io.WriteString(s.Stdout, stdout)
		<-s.Context.Done()
		return 0
	}
}

// printsOn is a node that prints without an end.
func printsOn(s *clustertest.Session) int {
	for s.Context.Err() == nil {
		if _, err := s.Stdout.Write(bytes.Repeat([]byte("x"), 1<<15)); err != nil {
			break
		}
	}
	return 0
}

func nodesOf(runs map[string]func(*clustertest.Session) int) []clustertest.Node {
	var nodes []clustertest.Node
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		nodes = append(nodes, clustertest.Node{Name: name, Run: runs[name]})
	}
	return nodes
}
