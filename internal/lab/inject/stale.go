package inject

import (
	"sync"
	"time"
)

// Limits of the answers that are kept to be given again.
const (
	maxStale      = 1000
	maxStaleBytes = 64 << 20 // of keys and answers
)

// staleAnswers are answers that may be given again, by method and request. The oldest are
// dropped when there are too many. The zero value has none; it is safe for concurrent use.
type staleAnswers struct {
	mu    sync.Mutex
	kept  map[string]keptAnswer
	bytes int
}

// keptAnswer is an answer, and when the runtime gave it.
type keptAnswer struct {
	answer []byte
	at     time.Time
}

// get returns the answer of a key, if it was given after a time.
func (s *staleAnswers) get(key string, after time.Time) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.kept[key]
	return k.answer, ok && k.at.After(after)
}

// put keeps an answer in place of the key's last one.
func (s *staleAnswers) put(key string, answer []byte, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
	size := len(key) + len(answer)
	if size > maxStaleBytes {
		return
	}
	for len(s.kept) >= maxStale || s.bytes+size > maxStaleBytes {
		oldest, found := "", false
		for known, k := range s.kept {
			if !found || k.at.Before(s.kept[oldest].at) {
				oldest, found = known, true
			}
		}
		s.drop(oldest)
	}
	if s.kept == nil {
		s.kept = map[string]keptAnswer{}
	}
	s.kept[key] = keptAnswer{answer, at}
	s.bytes += size
}

func (s *staleAnswers) drop(key string) {
	if k, ok := s.kept[key]; ok {
		s.bytes -= len(key) + len(k.answer)
		delete(s.kept, key)
	}
}
