package run

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/volume"
)

const serviceAccountFlagName = "service-account"

func serviceAccountFlag() cli.Flag {
	return &cli.StringFlag{
		Name: serviceAccountFlagName, DefaultText: "none",
		Usage: "token of service accounts in projected volumes, `ignore|FILE`: ignore leaves it out of the volumes, FILE holds the token; without it such volumes are refused",
	}
}

// readServiceAccounts returns what becomes of the tokens of service accounts, and the file
// that has one.
func readServiceAccounts(c *cli.Context) (_ manifest.ServiceAccounts, file string, err error) {
	switch value := c.String(serviceAccountFlagName); {
	case !c.IsSet(serviceAccountFlagName):
		return manifest.AccountsRefused, "", nil
	case value == "":
		return 0, "", shell.Usagef("--%s is empty: ignore or a file", serviceAccountFlagName)
	case value == "ignore":
		return manifest.AccountsIgnored, "", nil
	default:
		if _, err := volume.ReadToken(value); err != nil {
			return 0, "", shell.Usagef("--%s: %v", serviceAccountFlagName, err)
		}
		file, err := filepath.Abs(value)
		return manifest.AccountsProvided, file, err
	}
}
