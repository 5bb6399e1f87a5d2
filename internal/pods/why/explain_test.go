package why

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/pod/testutil"
)

var update = flag.Bool("update", false, "write the golden files")

// The words are those that containerd, CRI-O, runc, crun, CNI plugins and the kubelet send.
func TestErrorsNameLayers(t *testing.T) {
	for _, c := range errorExamples {
		got := Explain(c.text, c.step)
		if len(got) > 1 || len(got) == 1 != (c.layer != "") || c.layer != "" && got[0].Layer != c.layer {
			t.Errorf("%q in step %s: %+v", c.text, c.step, got)
		}
	}
}

var errorExamples = []struct {
	step  Step
	text  string
	layer Layer
}{
	{StepSandbox, `failed to setup network for sandbox "5f": plugin type="bridge" failed (add): failed to allocate for range 0: no IP addresses available in range set: 10.88.0.1-10.88.0.2`, LayerNetwork},
	{StepSandbox, `failed to create pod network sandbox k8s_web(5f): error adding pod default_web to CNI network "crio": plugin type="slow" failed (add): exit status 1`, LayerNetwork},
	{StepSandbox, `unable to get OCI runtime for sandbox "5f": no runtime for "nosuch" is configured`, LayerRuntime},
	{StepSandbox, `failed to find runtime handler nosuch from runtime list map[crun:0x1]`, LayerRuntime},
	{StepSandbox, `failed to reserve sandbox name "a_b_c_0": name "a_b_c_0" is reserved for "5f"`, LayerRuntime},
	{StepSandbox, `kubelet: something that nobody has seen`, ""},
	{StepCreate, `failed to create containerd task: write /a: no space left on device`, LayerDisk},
	{StepCreate, `secret "a" not found`, LayerConfig},
	{StepCreate, `couldn't find key k in Secret default/a`, LayerConfig},
	{StepCreate, `container has runAsNonRoot and image will run as root`, LayerConfig},
	{StepCreate, `error gathering device information while adding custom device "/dev/nosuch": no such file or directory`, LayerDevice},
	{StepCreate, `failed to prepare subPath for volumeMount "v" of container "c"`, LayerVolume},
	{StepStart, `runc create failed: unable to start container process: exec: "nope": executable file not found in $PATH`, LayerApplication},
	{StepStart, "executable file `nope` not found in $PATH: No such file or directory", LayerApplication},
	{StepStart, `exec /app: exec format error`, LayerApplication},
	{StepStart, `container init was OOM-killed (memory limit too low?)`, LayerKernel},
	{StepStart, `error mounting "/srv" to rootfs at "/srv": not a directory`, LayerVolume},
	{StepVolume, `MountVolume.SetUp failed for volume "v" : hostPath type check failed: /srv is not a directory`, LayerVolume},
	{StepPull, `failed to resolve image: failed to do request: Head "https://r/v2/a/manifests/1": dial tcp 127.0.0.1:1: connect: connection refused`, LayerRegistry},
	{StepPull, `unexpected status from HEAD request to https://r/v2/a/manifests/1: 401 Unauthorized`, LayerRegistry},
	{StepPull, `pull access denied, repository does not exist or may require authorization`, LayerRegistry},
	{StepPull, `unexpected status from GET request: 429 Too Many Requests`, LayerRegistry},
	{StepPull, `failed to copy: unexpected EOF`, LayerRegistry},
	{StepPull, `r/a:1: not found`, LayerImage},
	{StepPull, `reading manifest 1 in r/a: manifest unknown`, LayerImage},
	{StepPull, `no match for platform in manifest`, LayerImage},
	{StepPull, `Container image "a:1" is not present with pull policy of Never`, LayerImage},
	{StepPull, `rpc error: code = Unavailable desc = error reading from server: EOF`, LayerRuntime},
	{StepPull, `pull of r/a@sha256:4010429: something that nobody has seen`, ""},
	{StepPull, `pinging container registry r: StatusCode: 404, "not found\n"`, LayerImage},
	{StepSandbox, `connection error: desc = "transport: Error while dialing: dial unix /run/x.sock: connect: connection refused"`, LayerRuntime},
	{StepPull, `write /var/lib/containerd/ingest: no space left on device`, LayerDisk},
}

const (
	page      = "../../../docs/stuck-starting.md"
	pageBegin = "<!-- errors: written by go test ./internal/pods/why -update -->\n"
	pageEnd   = "<!-- end of table -->\n"
)

// TestTableInTheDocs keeps the table of errors of docs/stuck-starting.md true.
func TestTableInTheDocs(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, hasBegin := strings.Cut(string(text), pageBegin)
	_, tail, hasEnd := strings.Cut(rest, pageEnd)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s has no table of errors", page)
	}
	testutil.Golden(t, *update, page, head+pageBegin+errorsTable()+pageEnd+tail)
}

func errorsTable() string {
	var b strings.Builder
	b.WriteString("| STEP | words of the error | LAYER |\n|---|---|---|\n")
	row := func(step string, r textRule) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", step, strings.Join(r.parts, ", "), r.layer)
	}
	for _, r := range pullTexts {
		row("pull", r)
	}
	for _, r := range textRules {
		row("other", r)
	}
	return b.String()
}
