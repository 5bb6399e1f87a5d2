package run

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/volume"
)

// serviceAccounts is what becomes of the tokens of service accounts. The zero value
// refuses volumes that have one.
type serviceAccounts struct {
	kind manifest.ServiceAccounts
	// file has the token, if one is provided.
	file string
}

const serviceAccountFlagName = "service-account"

func serviceAccountFlag() cli.Flag {
	return &cli.StringFlag{
		Name: serviceAccountFlagName, DefaultText: "none",
		Usage: "token of service accounts in projected volumes, `ignore|FILE`: ignore leaves it out of the volumes, FILE holds the token; without it such volumes are refused",
	}
}

func readServiceAccounts(c *cli.Context) (serviceAccounts, error) {
	switch value := c.String(serviceAccountFlagName); {
	case !c.IsSet(serviceAccountFlagName):
		return serviceAccounts{}, nil
	case value == "":
		return serviceAccounts{}, shell.Usagef("--%s is empty: ignore or a file", serviceAccountFlagName)
	case value == "ignore":
		return serviceAccounts{kind: manifest.AccountsIgnored}, nil
	default:
		if _, err := volume.ReadToken(value); err != nil {
			return serviceAccounts{}, shell.Usagef("--%s: %v", serviceAccountFlagName, err)
		}
		file, err := filepath.Abs(value)
		return serviceAccounts{kind: manifest.AccountsProvided, file: file}, err
	}
}
