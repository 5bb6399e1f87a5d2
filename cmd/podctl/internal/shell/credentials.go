package shell

import (
	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/node/credential"
)

// CredentialFlags are the flags of ReadCredentials.
func CredentialFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "registry-config", DefaultText: "as kubelet and docker", Usage: "docker config `FILE` with the credentials of registries; none reads none"},
		&cli.StringFlag{Name: "image-credential-provider-config", DefaultText: "none", Usage: "CredentialProviderConfig, a `FILE` or a directory, as the kubelet's"},
		&cli.StringFlag{Name: "image-credential-provider-bin-dir", DefaultText: "none", Usage: "`DIR` of the credential provider plugins"},
	}
}

// ReadCredentials reads where the credentials of registries are.
func ReadCredentials(c *cli.Context) (credential.Config, error) {
	config := credential.Config{
		RegistryConfig: c.String("registry-config"),
		ProviderConfig: c.String("image-credential-provider-config"), ProviderBinDir: c.String("image-credential-provider-bin-dir"),
	}
	if (config.ProviderConfig == "") != (config.ProviderBinDir == "") {
		return config, Usagef("--image-credential-provider-config and --image-credential-provider-bin-dir are only valid together")
	}
	return config, nil
}
