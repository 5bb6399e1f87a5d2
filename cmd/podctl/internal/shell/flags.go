package shell

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/urfave/cli/v2"
)

// InstanceName is a new name for each run, so that each owns its own pods: kind
// is what it begins with.
func InstanceName(kind string) string {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return kind + "-" + hex.EncodeToString(b[:])
}

// OwnerIsGoneFlag is the user's word that podctl processes that cannot be seen from here
// do not exist.
func OwnerIsGoneFlag() cli.Flag {
	return &cli.BoolFlag{Name: "owner-is-gone", Usage: "if podctl cannot inspect the processes beside the runtime (another PID namespace), treat pods of podctl processes that it does not see as abandoned"}
}

// GracePeriodFlag shortens grace periods.
func GracePeriodFlag() *cli.Int64Flag {
	return &cli.Int64Flag{Name: "grace-period", DefaultText: "the pods' own", Usage: "shorten the pods' grace period to `SECONDS`"}
}

// ReadGracePeriod reads GracePeriodFlag; nil if it was not given.
func ReadGracePeriod(c *cli.Context) (*int64, error) {
	if !c.IsSet("grace-period") {
		return nil, nil
	}
	grace := c.Int64("grace-period")
	if grace < 0 {
		return nil, Usagef("--grace-period %d is negative", grace)
	}
	return &grace, nil
}
