package rules

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

func pattern(to *string, v string) error {
	if _, err := path.Match(v, ""); err != nil || v == "" {
		return errors.New("want a name or a pattern")
	}
	*to = v
	return nil
}

func flag(to *bool, v string) (err error) {
	if *to, err = strconv.ParseBool(v); err != nil {
		return errors.New("want true or false")
	}
	return nil
}

func number(to *int, v string, most int) (err error) {
	if *to, err = strconv.Atoi(v); err != nil || *to < 1 || *to > most {
		return fmt.Errorf("want a number from 1 to %d", most)
	}
	return nil
}

func duration(to *time.Duration, v string) (err error) {
	if *to, err = time.ParseDuration(v); err != nil || *to < 0 {
		return errors.New("want a duration, for example 2s")
	}
	return nil
}

// nth reads 3, 3- and 3-5.
func nth(r *Rule, v string) error {
	low, high, isRange := strings.Cut(v, "-")
	err := number(&r.First, low, 1<<30)
	switch {
	case !isRange:
		r.Last = r.First
	case high != "":
		err = errors.Join(err, number(&r.Last, high, 1<<30))
	}
	if err != nil || r.Last > 0 && r.Last < r.First {
		return errors.New("want the number of a call, or a range: 3, 3-, 3-5")
	}
	return nil
}

func probability(r *Rule, v string) (err error) {
	if r.Probability, err = strconv.ParseFloat(v, 64); err != nil || !(r.Probability > 0 && r.Probability <= 1) {
		return errors.New("want a number above 0, up to 1")
	}
	return nil
}

// code reads DeadlineExceeded.
func code(to *codes.Code, v string) error {
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		if strings.EqualFold(c.String(), v) {
			*to = c
			return nil
		}
	}
	return errors.New("want a gRPC code, for example DeadlineExceeded")
}

func assignment(to *[]Assignment, v string) error {
	field, value, ok := strings.Cut(v, "=")
	if !ok || field == "" {
		return errors.New("want PATH=VALUE, for example status.exitCode=0")
	}
	*to = append(*to, Assignment{field, value})
	return nil
}
