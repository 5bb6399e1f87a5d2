package tape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

const (
	header = `{"format":"podctl-pleg","version":1,"podctl":"v1","runtime":"sim","start":"2026-01-02T03:04:05Z"}` + "\n"
	end    = `{"t":900000000,"do":"end"}` + "\n"
)

// short is a recording: a pod is seen, and gone at the next relist.
const short = header +
	`{"t":0,"do":"call","n":1,"op":"ListPods"}
{"t":1000000,"do":"answer","n":1,"pods":[{"uid":"u","namespace":"default","name":"web","sandboxes":[{"id":"s","state":"running"}]}]}
{"t":1000000,"do":"call","n":2,"op":"PodStatus","uid":"u"}
{"t":2000000,"do":"answer","n":2,"status":{"uid":"u","ips":["10.0.0.1"],"sandboxes":[{"id":"s","state":"running"}]}}
{"t":3000000,"do":"opened"}
{"t":3100000,"do":"call","n":3,"op":"ListPods"}
{"t":3200000,"do":"answer","n":3,"same":true}
{"t":500000000,"do":"hint","hint":{"id":"s","uid":"u","deleted":true}}
{"t":500100000,"do":"call","n":4,"op":"ListPod","uid":"u"}
{"t":500200000,"do":"answer","n":4}
{"t":600000000,"do":"closed","error":"EOF"}
{"t":600100000,"do":"call","n":5,"op":"ListPods"}
{"t":600200000,"do":"answer","n":5}
` + end

func TestReaderErrorsNameTheLine(t *testing.T) {
	call := `{"t":5,"do":"call","n":1,"op":"ListPods"}` + "\n"
	for name, c := range map[string]struct{ tape, want string }{
		"empty":             {"", "f:1: not a recording"},
		"text":              {"hello\nworld\n", "f:1: not a recording"},
		"binary":            {"\x1f\x8b\x08\x00", "f:1: not a recording"},
		"other JSON":        {"{}\n", "f:1: not a recording"},
		"other JSON type":   {`{"format":7}` + "\n", "f:1: not a recording"},
		"JSON of many":      {"[1]\n", "f:1: not a recording"},
		"later format":      {`{"format":"podctl-pleg","version":2}` + "\n", "f:1: not a recording of podctl pleg record: its format is 2, this podctl reads 1"},
		"bad start":         {`{"format":"podctl-pleg","version":1,"start":"yesterday"}` + "\n", "f:1: "},
		"bad period":        {`{"format":"podctl-pleg","version":1,"period":"soon"}` + "\n", "f:1: "},
		"negative period":   {`{"format":"podctl-pleg","version":1,"period":"-1s"}` + "\n", "f:1: period is negative"},
		"header only":       {header, "f:2: the recording is cut off here"},
		"cut in a line":     {header + call + `{"t":6,"do":"ans`, "f:3: the recording is cut off here"},
		"cut between lines": {header + call, "f:3: the recording is cut off here"},
		"no JSON":           {header + "{\n", "f:2: unexpected end of JSON input"},
		"type":              {header + `{"t":"now"}` + "\n", "f:2: json: cannot unmarshal string"},
		"unknown entry":     {header + `{"t":1,"do":"dance"}` + "\n", `f:2: unknown entry "dance"`},
		"unknown call":      {header + `{"t":1,"do":"call","n":1,"op":"Exec"}` + "\n", `f:2: unknown call "Exec"`},
		"no uid":            {header + `{"t":1,"do":"call","n":1,"op":"ListPod"}` + "\n", "f:2: a ListPod without a uid"},
		"number again":      {header + call + call, "f:3: call 1 comes after call 1"},
		"number 0":          {header + `{"t":1,"do":"call","op":"ListPods"}` + "\n", "f:2: call 0 comes after call 0"},
		"time goes back":    {header + call + `{"t":4,"do":"opened"}` + "\n", "f:3: time goes back by 1ns"},
		"time too late":     {header + `{"t":9000000000000000000,"do":"opened"}` + "\n", "f:2: the time is out of range"},
		"answer to nothing": {header + `{"t":1,"do":"answer","n":3}` + "\n", "f:2: an answer to call 3"},
		"answered twice":    {header + call + `{"t":5,"do":"answer","n":1}` + "\n" + `{"t":5,"do":"answer","n":1}` + "\n", "f:4: an answer to call 1"},
		"same as nothing":   {header + call + `{"t":5,"do":"answer","n":1,"same":true}` + "\n", "f:3: the same as a list that does not come before"},
		"pod without uid":   {header + call + `{"t":5,"do":"answer","n":1,"pods":[{}]}` + "\n", "f:3: a pod without a uid"},
		"two pods":          {header + `{"t":1,"do":"call","n":1,"op":"ListPod","uid":"u"}` + "\n" + `{"t":5,"do":"answer","n":1,"pods":[{"uid":"a"},{"uid":"b"}]}` + "\n", "f:3: more than one pod"},
		"no status":         {header + `{"t":1,"do":"call","n":1,"op":"PodStatus","uid":"u"}` + "\n" + `{"t":5,"do":"answer","n":1}` + "\n", "f:3: a status without a status"},
		"hint of nothing":   {header + `{"t":1,"do":"hint"}` + "\n", "f:2: a hint without an id"},
	} {
		t.Run(name, func(t *testing.T) {
			err := readAll(c.tape)
			if err == nil || !strings.HasPrefix(err.Error(), "read "+c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if err := readAll(short); err != nil {
		t.Error(err)
	}
	if err := readAll(short + "whatever comes after the end"); err != nil {
		t.Error(err)
	}
}

func readAll(tape string) error {
	r, err := NewReader("f", strings.NewReader(tape))
	for err == nil {
		_, err = r.next()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func TestReaderRejectsLongLine(t *testing.T) {
	r, err := NewReader("f", io.MultiReader(strings.NewReader(header), zeros{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.next(); err == nil || err.Error() != "read f:2: longer than 64 MiB" {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A truncated tape is replayed up to its end, and the error names the line.
func TestTruncatedTapeIsReplayedToItsEnd(t *testing.T) {
	all, report := replayed(t, []byte(short))
	if len(all) != 3 || report != (Report{Span: 900 * time.Millisecond}) {
		t.Fatalf("%v, %+v", all, report)
	}
	cut := short[:strings.Index(short, `"deleted"`)]
	r, err := NewReader("f", strings.NewReader(cut))
	if err != nil {
		t.Fatal(err)
	}
	var got []told
	report, err = Play(t.Context(), r, PlayOptions{Events: collect(&got)})
	if !errors.Is(err, ErrCutOff) || fmt.Sprint(got) != fmt.Sprint(all[:1]) || report.Span != 3200*time.Microsecond {
		t.Errorf("%v, %v, %+v", err, got, report)
	}
}

// TestPlayWaitStopsTheClock: each event comes when the clock has been waited for.
func TestPlayWaitStopsTheClock(t *testing.T) {
	r, err := NewReader("f", strings.NewReader(short))
	if err != nil {
		t.Fatal(err)
	}
	var clock time.Time
	stop := errors.New("enough")
	var got []told
	_, err = Play(t.Context(), r, PlayOptions{
		Events: collect(&got),
		Wait: func(_ context.Context, until time.Time) error {
			if !until.After(clock) {
				t.Errorf("waits for %s, at %s", until, clock)
			}
			if clock = until; clock.After(r.Header.Start.Add(550 * time.Millisecond)) {
				return stop
			}
			return nil
		},
	})
	if !errors.Is(err, stop) || len(got) != 3 || !got[2].at.Equal(r.Header.Start.Add(500200*time.Microsecond)) {
		t.Errorf("%v, %v", err, got)
	}
}

func TestPlayContextCanceled(t *testing.T) {
	r, err := NewReader("f", strings.NewReader(short))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Play(ctx, r, PlayOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzPlay: no file makes a replay panic, hang, or fail without naming the line.
func FuzzPlay(f *testing.F) {
	f.Add([]byte(short))
	f.Add([]byte(short[:len(short)-40]))
	f.Add([]byte(header + end))
	f.Add([]byte(strings.Replace(short, `"same":true`, `"error":"down"`, 1)))
	f.Add([]byte(strings.Replace(short, `"start"`, `"period":"1ns","hintsOnly":true,"start"`, 1)))
	enough := errors.New("enough")
	f.Fuzz(func(t *testing.T, tape []byte) {
		r, err := NewReader("f", strings.NewReader(string(tape)))
		waits := 0
		if err == nil {
			_, err = Play(t.Context(), r, PlayOptions{Wait: func(context.Context, time.Time) error {
				if waits++; waits > 1000 {
					return enough
				}
				return nil
			}})
		}
		if err != nil && !strings.HasPrefix(err.Error(), "read ") && !errors.Is(err, enough) {
			t.Error(err)
		}
	})
}
