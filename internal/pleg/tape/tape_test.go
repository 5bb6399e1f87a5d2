package tape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// TestReplayWithAnotherPeriodMissesNothing: a replay that relists more or less often than
// the recorded PLEG reports the same transitions.
func TestReplayWithAnotherPeriodMissesNothing(t *testing.T) {
	l := record(t, pleg.Options{}, func(l *live) {
		for range 5 {
			time.Sleep(1700 * time.Millisecond)
			l.pod("sleep 0.5; exit 1", "sleep 3600")
		}
		time.Sleep(20 * time.Second)
	})
	for _, period := range []string{"200ms", "3s", "1m"} {
		tape := strings.Replace(l.tape.String(), `"start":`, `"period":"`+period+`","start":`, 1)
		got, report := replayed(t, []byte(tape))
		if report.Missing+report.Unasked == 0 {
			t.Errorf("period %s: %+v, which is no other replay", period, report)
		}
		if a, b := transitions(got), transitions(l.events); !reflect.DeepEqual(a, b) {
			t.Errorf("period %s: %v, live %v", period, a, b)
		}
	}
}

func transitions(list []told) map[string]int {
	m := map[string]int{}
	for _, x := range list {
		m[fmt.Sprint(x.ev.Type, " ", x.ev.ID)]++
	}
	return m
}

// secretive answers with a secret wherever there is room for one.
type secretive struct{ err error }

const secret = "hunter2"

func (s secretive) ListPods(context.Context) ([]*pod.Pod, error) {
	p, err := s.ListPod(context.Background(), "u")
	return []*pod.Pod{p}, err
}

func (s secretive) ListPod(context.Context, types.UID) (*pod.Pod, error) {
	p := &pod.Pod{
		Sandboxes:  []*pod.Sandbox{{Labels: map[string]string{"token": secret}}},
		Containers: []*pod.Container{{}},
	}
	fill(reflect.ValueOf(p))
	return p, s.err
}

func (s secretive) PodStatus(context.Context, *pod.Pod) (*pod.Status, error) {
	st := &pod.Status{
		Sandboxes: []*pod.SandboxStatus{{}},
		Containers: []*pod.ContainerStatus{{
			Annotations: map[string]string{"token": secret}, Mounts: []pod.Mount{{}}, User: &pod.User{},
		}},
	}
	fill(reflect.ValueOf(st))
	st.Containers[0].Reason = "the token is " + secret
	return st, s.err
}

func (secretive) Hints(_ context.Context, opened func(), each func(pod.Hint)) error {
	opened()
	each(pod.Hint{ID: "i"})
	return io.EOF
}

// may are the strings that a tape may carry, by the name of their field.
var may = []string{"UID", "Name", "Namespace", "ID", "SandboxID", "IPs"}

// fill puts the secret into every string that must not be recorded.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		fill(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, f := v.Type().Field(i).Name, v.Field(i)
			allowed := strings.Contains(" "+strings.Join(may, " ")+" ", " "+name+" ")
			switch {
			case f.Kind() == reflect.String && allowed:
				f.SetString("known")
			case f.Kind() == reflect.String:
				f.SetString(secret)
			case f.CanSet():
				fill(f)
			}
		}
	}
}

// TestRecorderOmitsSecrets: whatever a later field of the vocabulary holds, it
// is not recorded unless it is named here.
func TestRecorderOmitsSecrets(t *testing.T) {
	var tape bytes.Buffer
	r := NewRecorder(secretive{}, time.Now)
	if err := r.Begin(&tape, Header{}); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	_, _ = r.ListPods(ctx)
	p, _ := r.ListPod(ctx, "u")
	_, _ = r.PodStatus(ctx, p)
	_ = r.Hints(ctx, func() {}, func(pod.Hint) {})
	count, err := r.End()
	if err != nil || count.Relists != 1 || count.PodRelists != 1 || count.Statuses != 1 || count.Hints != 1 || count.Bytes != int64(tape.Len()) {
		t.Errorf("%+v, %v", count, err)
	}
	if strings.Contains(tape.String(), secret) || strings.Count(tape.String(), "known") < 10 {
		t.Errorf("tape:\n%s", tape.String())
	}
	if _, err := NewReader("tape", &tape); err != nil {
		t.Error(err)
	}
}

func TestUnchangedListIsRecordedOnce(t *testing.T) {
	var tape bytes.Buffer
	r := NewRecorder(secretive{}, time.Now)
	if err := r.Begin(&tape, Header{}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, _ = r.ListPods(t.Context())
	}
	if n := strings.Count(tape.String(), `"same":true`); n != 2 || strings.Count(tape.String(), `"pods"`) != 1 {
		t.Errorf("tape:\n%s", tape.String())
	}
}

// full is a disk with room for some bytes.
type full int

var errFull = errors.New("no space left on device")

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestFailedWriteDoesNotFailCalls: it is said once, at the end.
func TestFailedWriteDoesNotFailCalls(t *testing.T) {
	room := full(300)
	r := NewRecorder(secretive{}, time.Now)
	if err := r.Begin(&room, Header{}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if pods, err := r.ListPods(t.Context()); err != nil || len(pods) != 1 {
			t.Fatal(pods, err)
		}
	}
	select {
	case <-r.Failed():
	default:
		t.Error("not said")
	}
	if _, err := r.End(); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

func TestCallsBeforeBeginAreNotRecorded(t *testing.T) {
	var tape bytes.Buffer
	r := NewRecorder(secretive{errors.New("down\nfor good")}, time.Now)
	_, _ = r.ListPods(t.Context())
	if err := r.Begin(&tape, Header{}); err != nil {
		t.Fatal(err)
	}
	_, _ = r.ListPods(t.Context())
	count, _ := r.End()
	_, _ = r.ListPods(t.Context())
	if count.Relists != 1 || count.Errors != 1 || strings.Count(tape.String(), "\n") != 4 || !strings.Contains(tape.String(), `"error":"down for good"`) {
		t.Errorf("%+v, tape:\n%s", count, tape.String())
	}
}
