// Command fleetbench measures kubectl podctl on a simulated cluster: an API server on this
// machine, and nodes that answer with a list of pods.
//
//	go -C test run ./fleetbench -podctl ../bin/podctl
//
// It prints the time and the peak memory of the plugin's process for each format. The
// server uses the same processors.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/podctl/podctl/testkit/clustertest"
)

func main() {
	podctl := flag.String("podctl", "podctl", "the program, `FILE`")
	nodes := flag.Int("nodes", 1000, "`NUMBER` of nodes")
	pods := flag.Int("pods", 30, "`NUMBER` of pods in the list of each node")
	delay := flag.Duration("delay", 100*time.Millisecond, "time that podctl takes on a node, a `DURATION`")
	flag.Parse()
	if err := measure(*podctl, *nodes, *pods, *delay); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure(podctl string, nodes, pods int, delay time.Duration) error {
	dir, err := os.MkdirTemp("", "fleetbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plugin, config := filepath.Join(dir, "kubectl-podctl"), filepath.Join(dir, "config")
	if podctl, err = filepath.Abs(podctl); err != nil {
		return err
	}
	s := clustertest.Start(clustertest.Options{Nodes: answering(nodes, pods, delay)})
	defer s.Close()
	if err := errors.Join(os.Symlink(podctl, plugin), s.WriteKubeconfig(config)); err != nil {
		return err
	}
	fmt.Printf("%d nodes, %d pods each, %s on each node\n%-8s %8s %8s %10s\n", nodes, pods, delay, "format", "time", "CPU", "memory")
	for _, format := range []string{"table", "json"} {
		cmd := exec.Command(plugin, "--kubeconfig", config, "--all-nodes", "-o", format, "terminating")
		cmd.Stderr = os.Stderr
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
		took, memory := time.Since(began), int64(0)
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			memory = int64(usage.Maxrss) >> 10
		}
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		fmt.Printf("%-8s %7.1fs %7.1fs %6d MiB\n", format, took.Seconds(), cpu.Seconds(), memory)
	}
	return nil
}

// answering are nodes that print a list of terminating pods.
func answering(nodes, pods int, delay time.Duration) []clustertest.Node {
	type object = map[string]any
	var items []object
	for i := range pods {
		name := fmt.Sprintf("default/web-%d-abcdefghij-klmno", i)
		items = append(items, object{
			"name":  name,
			"cells": []string{name, "4m", "30s", "web (pid 8812, D nfs_wait_bit_killable)", "kernel", "KillContainer: context deadline exceeded"},
			"wide":  []string{"kubelet", "the process is in an uninterruptible sleep, which no signal ends"},
			"notes": []string{"  the process is in an uninterruptible sleep, which no signal ends", "  hint: podctl describe " + name + " · dmesg"},
			"data": object{
				"metadata": object{"namespace": "default", "name": name, "uid": "7b0d3f0e-6d7c-4d3f-9a6e-0123456789ab"}, "owner": "kubelet",
				"running": []object{{"name": "web", "id": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "pid": 8812, "state": "D", "wchan": "nfs_wait_bit_killable"}},
				"layer":   "kernel", "confidence": "observed", "why": "the process is in an uninterruptible sleep, which no signal ends",
				"lastError": "KillContainer: context deadline exceeded", "next": []string{"podctl describe " + name, "dmesg"},
			},
		})
	}
	text, err := json.Marshal(object{"cellsVersion": 1, "header": []string{"POD", "SINCE", "GRACE", "RUNNING", "LAYER", "LAST ERROR"}, "wide": []string{"OWNER", "WHY"}, "items": items})
	if err != nil {
		panic(err) // strings and numbers
	}
	all := make([]clustertest.Node, nodes)
	for i := range all {
		all[i] = clustertest.Node{Name: fmt.Sprintf("node-%04d", i), Run: func(s *clustertest.Session) int {
			time.Sleep(delay)
			_, _ = s.Stdout.Write(text)
			return 0
		}}
	}
	return all
}
