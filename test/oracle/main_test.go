package oracle

import (
	"flag"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// TestMain lets eight recorded pods be replayed at a time: they mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
	live.Main(m)
}
