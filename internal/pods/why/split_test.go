package why

import (
	"strings"
	"testing"
)

func TestSplitErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"one error":           {"a: b: c", ":a: b: c"},
		"an error of 2 lines": {"error running hook #0: exit status 1, stderr: Auto-detected mode\nnvidia-container-cli: no", ":error running hook #0: exit status 1, stderr: Auto-detected mode nvidia-container-cli: no"},
		"errors":              {"Error: a\nFailed b\n\nc", ":Error: a|:Failed b|:c"},
		"a kubelet's log": {`Nov 1 n kubelet[1]: E1127 07:47:06.211430   21361 remote_runtime.go:193] "RunPodSandbox from runtime service failed" err="rpc error: failed \"a\""` + "\n" +
			`I1127 07:47:06.211430   21361 pod.go:1] "Starting" err="x"` + "\n" + `E1127 07:47:06.211430   21361 nested.go:3] Operation for "x" failed. Error: MountVolume.SetUp failed`, `sandbox:rpc error: failed "a"|:MountVolume.SetUp failed`},
		"containerd's log":        {`time="2026-11-28T10:00:00Z" level=info msg="a"` + "\n" + `time="2026-11-28T10:00:00Z" level=error msg="StopPodSandbox for \"5f\" failed" error="failed to \"x\""`, `stop:failed to "x"`},
		"an old containerd's log": {`n containerd[1]: time="2026" level=error msg="StopPodSandbox for "5f" failed" error="failed to destroy network for sandbox "5f": b"`, `stop:failed to destroy network for sandbox "5f": b"`},
		"events": {"Events:\n  Type Reason Age From Message\n  Normal   Pulled  1s  kubelet  Image \"a\" pulled\n  Warning  FailedMount  3s (x4 over 1m)  kubelet  MountVolume a\n  Warning  FailedCreatePodSandBox  <unknown>  kubelet, node-1  Failed b\n" +
			"  4m  2m  2  {kubelet n}  Warning  FailedSync  Error c", "volume:MountVolume a|sandbox:Failed b|:Error c"},
		"a list of events": {"LAST SEEN  TYPE  REASON  OBJECT  MESSAGE\n3m45s       Warning   FailedCreatePodSandBox   pod/a-b   Failed to create\n1s Normal Pulled pod/a done", ":LAST SEEN  TYPE  REASON  OBJECT  MESSAGE|sandbox:Failed to create"},
		"a described pod":  {"Name: error\nNamespace: default\nAnnotations: a: failed to pull\n    State:  Waiting\n      Reason:  CreateContainerConfigError\n      Message:  secret \"a\" not found\n    Last State: Terminated\n      Reason: OOMKilled\n      Exit Code: 137\n", `create:secret "a" not found|restart:OOMKilled`},
	} {
		var got []string
		for _, r := range splitErrors(c.text) {
			got = append(got, string(r.step)+":"+r.text)
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "|"), c.want)
		}
	}
}

// A text of another has any size and depth.
func TestExplainIsBounded(t *testing.T) {
	deep := strings.Repeat(`failed: "`, 10_000) + "write /a: no space left on device"
	if got := Explain(deep, ""); len(got) != 1 || got[0].Layer != LayerDisk {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{
		strings.Repeat("a", 64<<20), strings.Repeat(`\`, MaxText) + `"`, strings.Repeat("\x1b[2J", MaxText/4), strings.Repeat("\n", MaxText), strings.Repeat("Error: x\n", MaxText/9), strings.Repeat(`exec: "`, MaxText/7), strings.Repeat("mount \"a", MaxText/8), "\xff\xfe",
	} {
		if got := Explain(text, ""); len(got) > maxMeanings {
			t.Errorf("%.20q…: %d meanings", text, len(got))
		}
	}
}

// A back-off says nothing beside what it is for.
func TestBackOffBesideItsCause(t *testing.T) {
	const backOff = "Back-off restarting failed container c in pod p"
	if got := Explain("Error: exec: \"/app\": permission denied\nError: "+backOff, StepStart); len(got) != 1 || got[0].Layer != LayerApplication || got[0].Step != StepStart {
		t.Errorf("%+v", got)
	}
	if got := Explain(backOff, ""); len(got) != 1 || got[0].Step != StepRestart {
		t.Errorf("%+v", got)
	}
}

func FuzzExplain(f *testing.F) {
	f.Add(`Warning  Failed  3s (x4 over 1m)  kubelet  Error: exec: "a"`, "start")
	f.Fuzz(func(t *testing.T, text, step string) {
		for _, m := range Explain(text, Step(step)) {
			if m.Layer == "" || m.Meaning == "" || m.Hint == "" {
				t.Errorf("%+v", m)
			}
		}
	})
}
