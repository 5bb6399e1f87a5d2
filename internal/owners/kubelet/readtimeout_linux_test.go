package kubelet

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// hang returns files that do not answer before the test has ended.
func hang(t *testing.T) files {
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	f := fakeFiles(nil)
	f.read = func(string) ([]byte, error) { <-ended; return nil, errors.New("ended") }
	return f
}

// A process that may be a kubelet, and whose files hang, is no evidence that no
// kubelet uses the runtime.
func TestFindWithHangingFilesIsUnseen(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "runtime.sock")
	listen(t, socket)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := findAmong(ctx, socket, func() (visibleProcesses, error) {
		n, err := readVisibleProcesses()
		n.kubelets = map[int]commandLine{1: {args: []string{"kubelet", "--config=/c"}}}
		n.files = func(int) files { return hang(t) }
		return n, err
	})
	var unseen *UnseenError
	if !errors.As(err, &unseen) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want an UnseenError", err)
	}
}

func TestReadSettingsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		s, err := readSettingsInTime(t.Context(), []string{"kubelet", "--config=/c"}, hang(t))
		if !errors.Is(err, errHangs) || !reflect.DeepEqual(s, defaultSettings()) {
			t.Errorf("%+v, %v", s, err)
		}
		if took := time.Since(started); took != filesTimeout {
			t.Errorf("after %s", took)
		}
	})
}

// Each read that hangs takes a thread; when all are taken nothing more is read.
func TestHangingReadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := hang(t)
		reads := 0
		for range cap(readsInFlight) + 1 {
			_, err := withReadTimeout(t.Context(), func(context.Context) ([]byte, error) { reads++; return f.read("/c") })
			if !errors.Is(err, errHangs) {
				t.Error(err)
			}
		}
		if reads != cap(readsInFlight) {
			t.Errorf("%d reads hang, want %d", reads, cap(readsInFlight))
		}
	})
}
