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
	return &cli.BoolFlag{Name: "owner-is-gone", Usage: "where podctl must not see the processes beside the runtime, take the pods of podctl processes that are not seen for abandoned"}
}
