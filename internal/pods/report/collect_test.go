package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answering is a part that answers after a time.
func answering(name string, after time.Duration) Part {
	return Part{Name: name, Title: name, Collect: func(ctx context.Context) ([]File, error) {
		select {
		case <-time.After(after):
			return []File{{Name: name + ".txt", Data: []byte("answer\n")}}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

func TestHangingPartsDelayOnlyThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		deaf := Part{Name: "deaf", Collect: func(context.Context) ([]File, error) { time.Sleep(time.Hour); return nil, nil }}
		failing := Part{Name: "failing", Collect: func(context.Context) ([]File, error) {
			return []File{{Name: "half.txt", Data: []byte("half\n")}}, errors.New("connection refused")
		}}
		l := Limits{InFlight: 8, Part: 15 * time.Second, Timeout: 24 * time.Second, File: 1 << 20, Total: 1 << 20}
		results := Collect(t.Context(), []Part{answering("slow", 3*time.Second), answering("hung", time.Hour), deaf, failing, answering("fast", 0)}, l, time.Now)
		if took := time.Since(begun); took > 16*time.Second {
			t.Errorf("took %s", took)
		}
		var got []string
		for _, r := range results {
			got = append(got, fmt.Sprintf("%s: %d files, %q, %s", r.Name, len(r.Files), r.Err, r.Took))
		}
		want := []string{
			`slow: 1 files, "", 3s`, `hung: 0 files, "no answer within 15s", 15s`, `deaf: 0 files, "no answer within 15s", 16s`,
			`failing: 1 files, "connection refused", 0s`, `fast: 1 files, "", 0s`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		time.Sleep(time.Hour) // the deaf part ends
	})
}

func TestTimeForAllPartsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var parts []Part
		for i := range 10 {
			parts = append(parts, answering(fmt.Sprint(i), time.Hour))
		}
		begun := time.Now()
		late := 0
		for _, r := range Collect(t.Context(), parts, Limits{InFlight: 2, Part: 15 * time.Second, Timeout: 24 * time.Second}, time.Now) {
			if r.Err == "" {
				t.Errorf("%+v", r)
			}
			if strings.HasPrefix(r.Err, "not collected") {
				late++
			}
		}
		if took := time.Since(begun); took > 26*time.Second || late != 6 {
			t.Errorf("took %s, %d parts were not begun", took, late)
		}
	})
}

func TestFilesAreBounded(t *testing.T) {
	text := strings.Repeat("0123456789\n", 100)
	results := []Result{{Name: "a", Files: []File{{Name: "a.txt", Data: []byte(text)}, {Name: "b.txt", Data: []byte("small\n")}}}, {Name: "b", Files: []File{{Name: "c.txt", Data: []byte(text)}}}}
	bound(results, Limits{File: 500, Total: 700})
	if got := string(results[0].Files[0].Data); !strings.HasSuffix(got, "9\n… 605 more bytes were left out\n") || len(got) > 600 {
		t.Errorf("%q", got)
	}
	if got := string(results[0].Files[1].Data); got != "small\n" {
		t.Errorf("%q", got)
	}
	// Half of what is compressed is nothing.
	sealed := []Result{{Files: []File{{Name: "a.tape", Data: []byte(text), Sealed: true}}}}
	bound(sealed, Limits{File: 500, Total: 700})
	if got := sealed[0].Files[0]; string(got.Data) != text {
		t.Errorf("%+v", got)
	}
	if len(results[0].Cut) != 1 || len(results[1].Cut) != 1 || len(results[1].Files[0].Data) > 250 {
		t.Errorf("%+v", results)
	}
}
