package cri

import (
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// A statistic without a time or a value is unknown: CRI-O answers with empty
// messages for a container that has just ended.
func TestStatisticsThatARuntimeDoesNotReportAreUnknown(t *testing.T) {
	got := toContainerStats(&runtimeapi.ContainerStats{
		Attributes: &runtimeapi.ContainerAttributes{Id: "c"}, Memory: &runtimeapi.MemoryUsage{},
		Cpu: &runtimeapi.CpuUsage{UsageCoreNanoSeconds: &runtimeapi.UInt64Value{Value: 7}},
	})
	if got != (ContainerStats{ID: "c"}) {
		t.Errorf("%+v", got)
	}
	got = toContainerStats(&runtimeapi.ContainerStats{
		Cpu:           &runtimeapi.CpuUsage{Timestamp: 5, UsageCoreNanoSeconds: &runtimeapi.UInt64Value{Value: 7}},
		Memory:        &runtimeapi.MemoryUsage{WorkingSetBytes: &runtimeapi.UInt64Value{}},
		WritableLayer: &runtimeapi.FilesystemUsage{UsedBytes: &runtimeapi.UInt64Value{Value: 9}},
		Io:            &runtimeapi.IoUsage{Psi: &runtimeapi.PsiStats{Some: &runtimeapi.PsiData{Avg10: 2.5}, Full: &runtimeapi.PsiData{Avg10: 1}}},
		Swap:          &runtimeapi.SwapUsage{SwapUsageBytes: &runtimeapi.UInt64Value{Value: 8}},
	})
	if *got.Swap != 8 || got.PSI.CPU != nil || *got.PSI.IO != (pod.Stall{Some: 2.5, Full: 1}) {
		t.Errorf("%+v", got)
	}
	if *got.CPU != 7 || !got.At.Equal(time.Unix(0, 5)) || *got.WorkingSet != 0 || *got.WritableLayer != 9 {
		t.Errorf("%+v", got)
	}
}
