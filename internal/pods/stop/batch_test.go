package stop

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever asks while a question is being answered gets the answer to the next one, with all
// others who wait.
func TestBatchAnswersAreNotOlderThanTheirQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Batch[int, time.Time]
		var sizes []int
		ask := func(_ context.Context, about []int) (time.Time, error) {
			put := time.Now()
			sizes = append(sizes, len(about))
			time.Sleep(time.Second)
			return put, t.Context().Err()
		}
		var asking sync.WaitGroup
		for i := range 100 {
			asking.Go(func() {
				time.Sleep(time.Duration(i) * 30 * time.Millisecond)
				called := time.Now()
				if put, err := b.Ask(t.Context(), i, ask); err != nil || put.Before(called) {
					t.Errorf("asked at %s, and the question was put at %s: %v", called, put, err)
				}
			})
		}
		asking.Wait()
		sum := 0
		for _, n := range sizes {
			sum += n
		}
		if len(sizes) > 5 || sum != 100 {
			t.Errorf("questions about %v", sizes)
		}
	})
}

func TestBatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b Batch[int, int]
	_, err := b.Ask(ctx, 1, func(context.Context, []int) (int, error) { t.Error("asked"); return 0, nil })
	if err == nil {
		t.Error("no error")
	}
}
