package sim_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

// TestCommandsRunInVirtualTime: the interpreter's programs last as long, and
// exit as, a shell's.
func TestCommandsRunInVirtualTime(t *testing.T) {
	for _, c := range []struct {
		script string
		lasts  time.Duration
		code   int32
	}{
		{"true", 0, 0},
		{"false", 0, 1},
		{"exit 3", 0, 3},
		{"sleep 2; exit 42", 2 * time.Second, 42},
		{"sleep 1m && false || exit 5", time.Minute, 5},
		{"true && exit 1; exit 2", 0, 1},
		{"for i in 1 2 3; do sleep 1; done; exit $i", 3 * time.Second, 3},
		{"i=0; while [ $i -lt 4 ]; do i=$((i+1)); sleep 0.5; done; exit $i", 2 * time.Second, 4},
		{"if [ -f /ready ]; then exit 1; else touch /ready; fi; test -f /ready && exit 7", 0, 7},
		{"sleep 5 & wait; exit 9", 5 * time.Second, 9},
		{"sleep 5 & exit 9", 0, 9},
		{"(sleep 1); { sleep 1; }; exec sleep 1", 3 * time.Second, 0},
		{"# nothing\nexit 4 # now", 0, 4},
		{"! true", 0, 1},
		{"i=0; until [ $i = 2 ]; do i=$((i + 1)); done; exit $i", 0, 2},
		{"x=a; [ \"$x\" = 'a' ] && exit 6", 0, 6},
		{"exit $(echo 8)", 0, 8},
		{"while true; do break; done; exit 2", 0, 2},
		{"export x=5; exit $((x - (1 + 1)))", 0, 3},
		{"x='a b'; for i in $x \"$x\"; do y=$((y+1)); done; exit $y", 0, 3},
		{"{ echo a; echo b; } > /f; [ \"$(cat /f)\" = \"a\nb\" ] && exit 4", 0, 4},
		{"case a.b in b*|c) exit 1;; a*) exit 2;; *) exit 3;; esac", 0, 2},
		{"exit ${x:-4}", 0, 4},
		{"exit `echo 5`", 0, 5},
		{"(exit 3); exit $(( $? + 1 ))", 0, 4},
		{"(sleep 1; echo b; echo a) | grep a | (read x; sleep 1; [ $x = a ] && exit 6)", 2 * time.Second, 6},
		{"while true; do echo y; done | head -n 1 | grep -q y && exit 7", 0, 7},
		{"cd /tmp; touch f; [ -f /tmp/f ] && ls | grep -q f && rm f && [ ! -e f ] && [ -d /tmp ] && exit 8", 0, 8},
		{"grep -q root < /etc/passwd && ! cat /no 2> /dev/null && exit 9", 0, 9},
		{"grow 2Mi 3s; exit 1", 3 * time.Second, 1},
		{"kill -TERM 1; kill -9 1; exit 2", 0, 2},
		{`[ "\$x\n" = '$x\n' ] && [ a\ b = "a b" ] && exit 5`, 0, 5},
	} {
		t.Run(c.script, func(t *testing.T) {
			bubble(t, sim.Options{}, func(t *testing.T, n *node) {
				id := n.run(c.script)
				time.Sleep(c.lasts - time.Millisecond)
				synctest.Wait()
				if c.lasts > 0 && n.status(id).State != runtimeapi.ContainerState_CONTAINER_RUNNING {
					t.Errorf("ended before %s", c.lasts)
				}
				time.Sleep(20 * time.Millisecond) // a loop's turns take a moment
				synctest.Wait()
				if st := n.status(id); st.State != runtimeapi.ContainerState_CONTAINER_EXITED || st.ExitCode != c.code {
					t.Errorf("after %s: %s, exit code %d, want exited with %d", c.lasts, st.State, st.ExitCode, c.code)
				}
			})
		})
	}
}

// TestStopSignals: what a stop does depends on the process's traps and on
// whether it is the first of its pid namespace.
func TestStopSignals(t *testing.T) {
	for _, c := range []struct {
		name, script string
		pid          runtimeapi.NamespaceMode
		signal       runtimeapi.Signal
		grace        int64
		takes        time.Duration
		code         int32
		reason       string
	}{
		{name: "first process without a trap ignores TERM", script: "sleep 3600", pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, takes: 30 * time.Second, code: 137, reason: "Error"},
		{name: "in the pod's pid namespace TERM ends it", script: "sleep 3600", pid: runtimeapi.NamespaceMode_POD, grace: 30, code: 143, reason: "Error"},
		{name: "trapped", script: `trap "exit 0" TERM; while true; do sleep 0.1; done`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, takes: 100 * time.Millisecond, code: 0, reason: "Completed"},
		{name: "trap that takes its time", script: `trap "sleep 1; exit 0" TERM; while true; do sleep 0.1; done`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 5, takes: 1100 * time.Millisecond, reason: "Completed"},
		{name: "trap waits for the command in front", script: `trap "exit 0" TERM; sleep 10`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, takes: 9 * time.Second, reason: "Completed"},
		{name: "wait is interrupted", script: `trap "exit 0" TERM; sleep 3600 & wait`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, reason: "Completed"},
		{name: "ignored", script: `trap "" TERM; while true; do sleep 0.1; done`, pid: runtimeapi.NamespaceMode_POD, grace: 2, takes: 2 * time.Second, code: 137, reason: "Error"},
		{name: "another trap does not help", script: `trap "exit 7" USR1; while true; do sleep 0.1; done`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 4, takes: 4 * time.Second, code: 137, reason: "Error"},
		{name: "the container's stop signal", script: `trap "exit 7" USR1; while true; do sleep 0.1; done`, pid: runtimeapi.NamespaceMode_CONTAINER, signal: runtimeapi.Signal_SIGNAL_SIGUSR1, grace: 4, takes: 100 * time.Millisecond, code: 7, reason: "Error"},
		{name: "unknown program obeys", script: "nginx -g 'daemon off;'", pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, code: 143, reason: "Error"},
		{name: "unknown syntax obeys", script: "f() { true; }; f", pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, code: 143, reason: "Error"},
		{name: "no grace kills at once", script: `trap "sleep 1" TERM; sleep 3600`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 0, code: 137, reason: "Error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, sim.Options{}, func(t *testing.T, n *node) {
				pod := sandboxConfig("p")
				cfg := containerConfig("sh", "-c", c.script)
				cfg.Linux.SecurityContext.NamespaceOptions.Pid = c.pid
				cfg.StopSignal = c.signal
				id := n.create(n.runPod(pod), pod, cfg)
				n.start(id)
				time.Sleep(time.Second)
				synctest.Wait()
				took := n.stop(id, c.grace)
				st := n.status(id)
				if off := took - c.takes; off < -100*time.Millisecond || off > 110*time.Millisecond {
					t.Errorf("stop took %s, want %s", took, c.takes)
				}
				if st.ExitCode != c.code || st.Reason != c.reason || st.State != runtimeapi.ContainerState_CONTAINER_EXITED {
					t.Errorf("%s with %d %s, want exited with %d %s", st.State, st.ExitCode, st.Reason, c.code, c.reason)
				}
			})
		})
	}
}

// TestSecondStopDoesNotSignalAgain, but waits its own grace.
func TestSecondStopDoesNotSignalAgain(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		id := n.run(`n=0; trap 'n=$((n+1)); [ $n = 2 ] && exit 1' TERM; while true; do sleep 0.1; done`)
		time.Sleep(time.Second)
		go func() {
			_, _ = n.rt.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 60})
		}()
		time.Sleep(time.Second)
		if took := n.stop(id, 2); took != 2*time.Second {
			t.Errorf("second stop took %s, want its own 2s", took)
		}
		if code := n.status(id).ExitCode; code != 137 {
			t.Errorf("exit code %d, want 137", code)
		}
	})
}

// TestStartFailureLeavesAnExitedContainer with code 128.
func TestStartFailureLeavesAnExitedContainer(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		n.sim.Script("c", sim.Script{StartErr: status.Error(codes.Unknown, `exec: "/no/such": no such file or directory`)})
		pod := sandboxConfig("p")
		id := n.create(n.runPod(pod), pod, containerConfig("/no/such"))
		if _, err := n.rt.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id}); err == nil {
			t.Fatal("it started")
		}
		st := n.status(id)
		if st.ExitCode != 128 || st.Reason != "StartError" || !strings.Contains(st.Message, "/no/such") || st.StartedAt != 0 || st.FinishedAt == 0 {
			t.Errorf("status %+v", st)
		}
	})
}

// TestProgramsByAttempt: the nth script is that of attempt n, the last one
// that of all later ones.
func TestProgramsByAttempt(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		n.sim.Script("p/c", sim.Script{Program: &sim.Program{Lifetime: 3 * time.Second, OOMKilled: true}},
			sim.Script{Program: &sim.Program{ExitCode: 4}})
		pod := sandboxConfig("p")
		sb := n.runPod(pod)
		for attempt, want := range []struct {
			code   int32
			reason string
		}{{137, "OOMKilled"}, {4, "Error"}, {4, "Error"}} {
			cfg := containerConfig("sleep", "60")
			cfg.Metadata.Attempt = uint32(attempt)
			id := n.create(sb, pod, cfg)
			n.start(id)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if st := n.status(id); st.ExitCode != want.code || st.Reason != want.reason {
				t.Errorf("attempt %d: %d %s, want %v", attempt, st.ExitCode, st.Reason, want)
			}
		}
	})
}

// TestUnkillable: a process that ignores SIGKILL makes every stop run out of
// time.
func TestUnkillable(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		n.sim.Script("c", sim.Script{IgnoreKill: true})
		id := n.run("sleep 3600")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := n.rt.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 2}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("stop: %v", err)
		}
		if st := n.status(id).State; st != runtimeapi.ContainerState_CONTAINER_RUNNING {
			t.Errorf("state %s", st)
		}
	})
}

// TestExecSync: output, exit codes, its timeout, and the container's end.
func TestExecSync(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		id := n.run("echo up > /tmp/up; sleep 100")
		synctest.Wait()
		exec := func(timeout int64, cmd ...string) (*runtimeapi.ExecSyncResponse, error) {
			return n.rt.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: cmd, Timeout: timeout})
		}
		if r, err := exec(1, "cat", "/tmp/up"); err != nil || string(r.Stdout) != "up\n" {
			t.Errorf("cat: %v, %v", r, err)
		}
		if r, err := exec(1, "sh", "-c", "echo bad >&2; exit 3"); err != nil || string(r.Stderr) != "bad\n" || r.ExitCode != 3 {
			t.Errorf("exit 3: %v, %v", r, err)
		}
		if r, err := exec(0, "sh", "-c", "x=$(seq 1 100000); echo $x | read y; seq 1 200000"); err != nil || len(r.Stdout) != 1<<20 {
			t.Errorf("much output: %d bytes, %v", len(r.GetStdout()), err)
		}
		if r, err := exec(1, "sh", "-c", strings.Repeat("(", 1<<20)); err != nil || r.ExitCode != 2 || !strings.Contains(string(r.Stderr), "65536 bytes") {
			t.Errorf("a deep script: %v, %v", r, err)
		}
		if r, err := exec(1, "pg_isready"); err != nil || r.ExitCode != 0 {
			t.Errorf("unknown command: %v, %v", r, err)
		}
		start := time.Now()
		if _, err := exec(2, "sleep", "60"); status.Code(err) != codes.DeadlineExceeded || time.Since(start) != 2*time.Second {
			t.Errorf("timeout after %s: %v", time.Since(start), err)
		}
		if r, err := exec(0, "sleep", "3600"); err != nil || r.ExitCode != 137 {
			t.Errorf("exec in a container that ends: %v, %v", r, err)
		}
		synctest.Wait() // the exec ends before the container's state is known
		if _, err := exec(1, "true"); err == nil || !strings.Contains(err.Error(), "CONTAINER_EXITED") {
			t.Errorf("exec in an exited container: %v", err)
		}
	})
}

// What the interpreter does not know runs on in the background, too.
func TestUnknownCommandInTheBackgroundIsWaitedFor(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		id := n.run("trap 'exit 0' TERM; tail -f /log & wait")
		time.Sleep(time.Hour)
		if st := n.status(id); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
			t.Errorf("%s, exit code %d", st.State, st.ExitCode)
		}
	})
}

// TestScriptsBeyondTheInterpreterAreRefused: what would not run as in a shell is not run.
func TestScriptsBeyondTheInterpreterAreRefused(t *testing.T) {
	for script, want := range map[string]string{
		"true; ls |& wc":            `1:7: the simulated runtime does not support "ls |& wc"`,
		"f() { true; }":             `1:1: the simulated runtime does not support "f() { true; }"`,
		"[[ a = b ]]":               `1:1: the simulated runtime does not support "[[ a = b ]]"`,
		"echo ${x%y}":               `1:6: the simulated runtime does not support "${x%y}"`,
		`exec "$@"`:                 `1:7: the simulated runtime does not support "$@"`,
		"exit $((2 * 3))":           `1:9: the simulated runtime does not support "2 * 3"`,
		"cat << E\nE\n":             `1:5: the simulated runtime does not support "<< E"`,
		"echo 3> /f":                `1:6: the simulated runtime does not support "3> /f"`,
		"local x=1":                 `1:1: the simulated runtime does not support "local x=1"`,
		"while true; do true":       "1:1: `while` statement must end with `done`",
		"echo 'a":                   "1:6: reached EOF without closing quote `'`",
		"for i; do echo; done":      `1:5: the simulated runtime does not support "i"`,
		"select i in a; do a; done": `1:1: the simulated runtime does not support "select i in a; do a; done"`,
	} {
		t.Run(script, func(t *testing.T) {
			bubble(t, sim.Options{}, func(t *testing.T, n *node) {
				id := n.run("sleep 3600")
				if got, err := n.rt.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"sh", "-c", script}}); err != nil || got.ExitCode != 2 || string(got.Stderr) != "sh: "+want+"\n" {
					t.Errorf("%v, exit code %d, stderr %q, want %q", err, got.GetExitCode(), got.GetStderr(), "sh: "+want+"\n")
				}
			})
		})
	}
}
