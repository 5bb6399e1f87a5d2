package oracle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/render"
)

// The addresses that stand for the recording's <podIP> and <hostIP>.
const podIP, hostIP = "10.88.0.7", "192.0.2.7"

// podCase is one directory of oracle/pods.
type podCase struct {
	dir   string
	pod   *v1.Pod
	calls []podCall
	// removedAfter is in milliseconds, as are the times of the calls.
	removedAfter int
}

type podCall struct {
	// T counts milliseconds, from a time that all calls of a run have in common.
	T         int            `json:"t"`
	Method    string         `json:"method"`
	Container string         `json:"container"`
	Err       string         `json:"err"`
	Args      map[string]any `json:"args"`
	// config has the arguments of a call that was not recorded but made.
	config proto.Message
}

func readPodCases(t *testing.T) map[string]podCase {
	t.Helper()
	dir := oracleDir(t, "pods")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]podCase{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		var recorded struct {
			RemovedAfterMs int       `json:"removedAfterMs"`
			Calls          []podCall `json:"calls"`
		}
		if err := json.Unmarshal(readFile(t, dir, entry.Name(), "calls.json"), &recorded); err != nil {
			t.Fatalf("%s: %v", entry.Name(), err)
		}
		cases[entry.Name()] = podCase{
			dir:          filepath.Join(dir, entry.Name()),
			pod:          decodePod(t, readFile(t, dir, entry.Name(), "pod.yaml")),
			calls:        recorded.Calls,
			removedAfter: recorded.RemovedAfterMs,
		}
	}
	if len(cases) == 0 {
		t.Fatalf("%s has no cases", dir)
	}
	return cases
}

func readFile(t *testing.T, elem ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decodePod(t *testing.T, document []byte) *v1.Pod {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(document)
	if err != nil {
		t.Fatal(err)
	}
	p, err := manifest.Decode(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	p.UID = "<uid>"
	return p
}

// recordingNode is the machine of the recording: 2 CPUs, 24,684,084 KiB,
// cgroup v1. Its DNS servers and page sizes, which may differ in another
// recording, are those of the first pod that has them from the node.
func recordingNode(cases map[string]podCase) *render.Node {
	const memory = 24684084 << 10
	n := &render.Node{
		Name:           "<node>",
		IPs:            []string{hostIP},
		MemoryCapacity: memory,
		Allocatable:    render.Allocatable(2, memory, 0),
		SwapController: true,
		PodsDir:        "<pods>",
		LogDir:         "<logs>",
		SeccompDir:     "<root>/seccomp",
	}
	for _, c := range cases {
		for _, call := range c.calls {
			var recorded struct {
				DNSConfig struct{ Servers, Searches, Options []string }
				Linux     struct {
					Resources struct{ HugepageLimits []struct{ PageSize string } }
				}
			}
			remarshal(call.Args, &recorded)
			if call.Method == "RunPodSandbox" && c.pod.Spec.DNSPolicy != v1.DNSNone && c.pod.Spec.DNSConfig == nil {
				n.DNS = render.DNS{Servers: recorded.DNSConfig.Servers, Searches: recorded.DNSConfig.Searches, Options: recorded.DNSConfig.Options}
			}
			if limits := recorded.Linux.Resources.HugepageLimits; limits != nil {
				n.HugePageSizes = nil
				for _, l := range limits {
					n.HugePageSizes = append(n.HugePageSizes, l.PageSize)
				}
			}
		}
	}
	return n
}
