package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// drainEvents takes the events of before: the runtime has them for its first client.
func (w *world) drainEvents() {
	ctx, cancel := context.WithCancel(w.Context())
	first, err := w.cri.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		w.Fatal(err)
	}
	go func() {
		for err == nil {
			_, err = first.Recv()
		}
	}()
	synctest.Wait()
	cancel()
	synctest.Wait()
}

// events are the types of the events that a client gets when a container stops and is
// removed, and after how many seconds.
func (w *world) events() (got string) {
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	s, err := w.cri.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		w.Fatal(err)
	}
	synctest.Wait()
	id, began := w.running(), time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			event, err := s.Recv()
			if err != nil {
				return
			}
			if event.GetContainerId() == id {
				got += fmt.Sprintf("%d@%.0f ", event.GetContainerEventType(), time.Since(began).Seconds())
			}
		}
	}()
	if err := w.stop(id); err != nil {
		w.Fatal(err)
	}
	if _, err := w.cri.RemoveContainer(w.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: id}); err != nil {
		w.Fatal(err)
	}
	time.Sleep(time.Minute)
	cancel()
	<-done
	return got
}

func TestEvents(t *testing.T) {
	for text, want := range map[string]string{
		"method=Version hang":              "2@0 3@0 ",
		"method=GetContainerEvents drop":   "",
		"method=*Events drop nth=1":        "3@0 ",
		"method=*Events repeat=1":          "2@0 2@0 3@0 3@0 ",
		"method=*Events delay=5s":          "2@5 3@10 ",
		"method=*Events drop pod=other":    "2@0 3@0 ",
		"method=*Events error=Unavailable": "",
		// An end comes after so many messages, of the first stream that has as many.
		"method=*Events end after=1":                     "2@0 ",
		"method=*Events end after=2":                     "2@0 3@0 ",
		"method=*Events hang after=1":                    "2@0 ",
		"method=*Events error=Internal after=1 delay=5s": "2@0 ",
		"method=*Events end after=1 nth=2":               "2@0 3@0 ",
		// A delay does not hide an act that ends the call.
		"method=*Events delay=5s error=Unavailable": "",
		"method=*Events delay=5s hang":              "",
	} {
		inWorld(t, nil, func(w *world) {
			w.drainEvents()
			w.rules(text)
			if got := w.events(); got != want {
				w.Errorf("%s: %q, want %q", text, got, want)
			}
		})
	}
}

func TestStreamEndsAfterMessages(t *testing.T) {
	for text, want := range map[string]codes.Code{
		"end": codes.OK, "error=DataLoss": codes.DataLoss,
	} {
		inWorld(t, nil, func(w *world) {
			w.drainEvents()
			w.rules("method=GetContainerEvents nth=1 after=1 " + text)
			s, err := w.cri.GetContainerEvents(w.Context(), &runtimeapi.GetEventsRequest{})
			if err != nil {
				w.Fatal(err)
			}
			synctest.Wait()
			if r := w.proxy.Rules()[0]; r.Matched != 0 {
				w.Errorf("%s: matched before a message passed", text)
			}
			if err := w.stop(w.running()); err != nil {
				w.Fatal(err)
			}
			_, first := s.Recv()
			_, second := s.Recv()
			if errors.Is(second, io.EOF) {
				second = nil
			}
			w.wants(first, codes.OK)
			w.wants(second, want)
			if r := w.proxy.Rules()[0]; r.Matched != 1 || r.Fired != 1 {
				w.Errorf("%s: matched %d, fired %d", text, r.Matched, r.Fired)
			}
		})
	}
}
