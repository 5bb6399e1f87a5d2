package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pod/secret"
)

// planted stands for the secret in the inputs. It has the characters of a password, so that no rule
// matches it by chance.
const planted = "pl4nted-S3cret"

// leaking is a bundle with a secret in every place of it, and what a browser would execute.
func leaking() *Bundle {
	const secretText = "token=" + planted
	return &Bundle{
		Dir: "podctl-report-n1", Host: "n1<script>", Kernel: "linux", Version: "v1", Time: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Took: 2 * time.Second,
		Summary: Summary{
			Findings: []Finding{{"failure", "runtime.cri", "asked https://u:" + planted + "@r.test", "unset PASSWORD=" + planted}},
			Pods:     []PodLine{{"default/web<b>", "CrashLoopBackOff", "exited 1: " + secretText, ""}},
			Stuck:    []PodLine{{"default/db", "terminating, process", secretText, "podctl rm default/db --token " + planted}},
		},
		Results: []Result{
			{Name: "doctor", Title: "doctor", Files: []File{{Name: "doctor.txt", Data: []byte("</pre><script>alert(1)</script>\x1b[31m\u202e " + secretText + "\n")}, {Name: "doctor.json", Data: []byte(`{"auth":"` + planted + `"}`)}}, Took: time.Millisecond},
			{Name: "runtime-answers", Title: "answers", Err: "dial: " + secretText},
		},
	}
}

func TestBundleHasNoPlantedSecret(t *testing.T) {
	b := leaking()
	b.Seal(secret.NewMasker(nil, nil), DefaultLimits)
	for _, f := range written(t, b) {
		if bytes.Contains(f.Data, []byte(planted)) {
			t.Errorf("%s has the secret:\n%s", f.Name, f.Data)
		}
	}
}

func TestIndexIsEscaped(t *testing.T) {
	b := leaking()
	b.Seal(secret.NewMasker(nil, nil), DefaultLimits)
	files := written(t, b)
	if files[0].Name != IndexName || len(files) != 3 {
		t.Fatalf("%d files, the first is %s", len(files), files[0].Name)
	}
	page := string(files[0].Data)
	for _, bad := range []string{"<script", "\x1b", "\u202e", "web<b>", "src=", "href=\"http", "url("} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{
		"&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[31m\\u202e", "n1&lt;script&gt;", "2026-01-02 15:04:05 UTC", "missing", `href="doctor/doctor.json"`, "users and passwords in URLs",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if page != string(written(t, b)[0].Data) {
		t.Error("the same report is written as other bytes")
	}
}

// written writes a bundle and returns its files.
func written(t *testing.T, b *Bundle) []File {
	t.Helper()
	var archive bytes.Buffer
	if err := b.Write(&archive); err != nil {
		t.Fatal(err)
	}
	files, err := unpack(archive.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestJoinReportsOfNodes(t *testing.T) {
	b := leaking()
	b.Seal(secret.NewMasker(nil, nil), DefaultLimits)
	var good, evil bytes.Buffer
	if err := b.Write(&good); err != nil {
		t.Fatal(err)
	}
	a := newArchive(&evil, "", b.Time)
	for _, name := range []string{"d/../../etc/passwd", "/etc/shadow", "d/../../../x", "d/kept.txt"} {
		if err := a.add(name, []byte("evil")); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	all := Joined{Dir: "all", Time: b.Time, Nodes: []Node{
		{Name: "n1", Archive: good.Bytes()}, {Name: "n2", Err: "Unreachable: no route"}, {Name: "n3", Archive: evil.Bytes()},
		{Name: "n4", Archive: good.Bytes()[:len(good.Bytes())/2]}, {Name: "n5", Archive: []byte("no archive")},
	}}
	var joined bytes.Buffer
	if err := all.Write(&joined); err != nil {
		t.Fatal(err)
	}
	files, err := unpack(joined.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
		if strings.HasPrefix(f.Name, "n4/") {
			continue // what could be read of it
		}
		if !strings.HasPrefix(f.Name, "n1/") && f.Name != IndexName && !strings.HasPrefix(f.Name, "n3/") {
			t.Errorf("%s is in no directory of its node", f.Name)
		}
	}
	page := string(files[0].Data)
	if !strings.Contains(strings.Join(names, " "), "n1/doctor/doctor.txt") || !strings.Contains(page, `href="n1/index.html"`) || !strings.Contains(page, "no route") || strings.Count(page, "read archive") != 2 {
		t.Errorf("%q\n%s", names, page)
	}
}

var errBroken = errors.New("broken")

func TestWriteErrorIsReturned(t *testing.T) {
	if err := leaking().Write(brokenWriter{}); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
