package why

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const kubeletLog = `
2026-08-01T11:59:00+00:00 n kubelet[7]: E0801 11:59:00.425059   21361 nestedpendingoperations.go:348] Operation for "{volumeName:v podName:uid-1}" failed. No retries permitted until 2026-08-01 12:00:00 +0000 UTC m=+621.4 (durationBeforeRetry 16s). Error: MountVolume.SetUp failed for volume "v" pod "web" (UID: "uid-1") : hostPath type check failed: /nosuch is not a directory
2026-08-01T11:59:30+00:00 n kubelet[7]: E0801 11:59:30.000000   21361 pod_workers.go:1338] "Error syncing pod, skipping" err="unmounted volumes=[v], unattached volumes=[]: context deadline exceeded" pod="default/web" podUID="uid-1"
I0801 11:59:31.332472   21361 kuberuntime_container.go:912] "Killing container with a grace period" pod="default/db" podUID="uid-2" containerName="c" containerID="containerd://821cc3" gracePeriod=2
E0801 11:59:32.595003   21361 pod_workers.go:1338] "Error syncing pod, skipping" err="failed to \"CreatePodSandbox\" for \"db\": plugin type=\"bridge\" failed (add): no" pod="default/db" podUID="uid-2"
E0801 11:59:40.000000   21361 other.go:1] "Something else" pod="default/other" podUID="uid-3"
`

func TestLastErrorSaysWhatItIsAbout(t *testing.T) {
	lines := strings.Split(kubeletLog, "\n")
	for uid, want := range map[string]string{
		"uid-1": `MountVolume.SetUp failed for volume "v" pod "web" (UID: "uid-1") : hostPath type check failed: /nosuch is not a directory`,
		"uid-2": `failed to "CreatePodSandbox" for "db": plugin type="bridge" failed (add): no`,
		"uid-3": `"Something else" pod="default/other" podUID="uid-3"`,
		"uid-5": "", "": "",
	} {
		switch got := lastError(of(lines, uid), now); {
		case got == nil && want == "":
		case got == nil || got.Text != want:
			t.Errorf("%s: %+v", uid, got)
		}
	}
	at := time.Date(2026, 8, 1, 11, 59, 32, 0, time.Local)
	if got := lastError(of(lines, "uid-2"), at); !got.Time.Equal(at) {
		t.Errorf("%v", got.Time)
	}
	if got := klogTime("1231 23:59:59", time.Date(2027, 1, 1, 0, 0, 1, 0, time.Local)); got.Year() != 2026 {
		t.Errorf("before the new year: %v", got)
	}
}

func TestContainersThatTheKubeletStopped(t *testing.T) {
	lines := strings.Split(kubeletLog, "\n")
	if !killedByKubelet(of(lines, "uid-2"), "821cc3") || killedByKubelet(of(lines, "uid-1"), "821cc3") {
		t.Error("the container that the kubelet stops is not known")
	}
}

// of returns the lines that name a pod.
func of(lines []string, uid string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return uid == "" || !strings.Contains(line, uid) })
}
