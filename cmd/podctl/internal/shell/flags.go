package shell

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/node/credential"
	"github.com/podctl/podctl/internal/sys/bounded"
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

// SelectorFlag is the flag of ReadSelector.
func SelectorFlag() cli.Flag {
	return &cli.StringFlag{Name: "selector", Aliases: []string{"l"}, Usage: "only pods with these `LABELS`: app=web,tier!=db"}
}

// ReadSelector reads --selector, nil if it was not given.
func ReadSelector(c *cli.Context) (labels.Selector, error) {
	text := c.String("selector")
	if text == "" {
		return nil, nil
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, Usagef("--selector %q: %v", text, err)
	}
	return selector, nil
}

// NoHeadersFlag is the flag of ReadOutput.
func NoHeadersFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-headers", Usage: "print tables without a header"}
}

// ReadOutput reads --output and --no-headers; an error is one of usage.
func ReadOutput(c *cli.Context) (output.Format, error) {
	format, err := ReadFormat(ReadGlobals(c).Output)
	format.NoHeaders = c.Bool("no-headers")
	return format, err
}

// ReadReportOutput is ReadOutput for a command that prints a report, which has no name.
func ReadReportOutput(c *cli.Context) (output.Format, error) {
	format, err := ReadOutput(c)
	if err == nil && format.Name() == "name" {
		err = &UsageError{Message: "--output name: " + c.Command.Name + " prints a report, which has no name", Advice: "one of: " + output.ReportFormats}
	}
	return format, err
}

// ReadFormat reads a value of --output.
func ReadFormat(value string) (output.Format, error) {
	f, err := output.ParseFormat(value)
	return f, asUsage(err)
}

// asUsage turns an error about a flag's value into a *UsageError.
func asUsage(err error) error {
	if wrong, ok := errors.AsType[*output.FormatError](err); ok {
		return &UsageError{Message: wrong.Message, Advice: wrong.Advice}
	}
	return err
}

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

// RuleFlags returns --inject and --rules.
func RuleFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "inject", Usage: "`RULE` of what goes wrong with which calls; repeatable"},
		&cli.StringFlag{Name: "rules", Usage: "YAML `FILE` with a list of rules"},
	}
}

// ReadInject returns the rules of --inject.
func ReadInject(c *cli.Context) (all []rules.Rule, err error) {
	for _, text := range c.StringSlice("inject") {
		r, err := rules.Parse("--inject", text)
		if err != nil {
			return nil, &UsageError{Message: err.Error(), Advice: "--inject 'method=StopContainer error=DeadlineExceeded'; podctl proxy --help"}
		}
		all = append(all, r)
	}
	return all, nil
}

// ReadRules returns the rules of a file of --rules, and its bytes; none for "". data is nil if
// the file cannot be read.
func ReadRules(file string) (all []rules.Rule, data []byte, err error) {
	if file == "" {
		return nil, nil, nil
	}
	if data, err = bounded.Read(file, rules.MaxFile); err != nil {
		return nil, nil, err
	}
	all, err = rules.ParseFile(file, data)
	return all, data, err
}

// PrintRules prints what each rule of a proxy or a simulated runtime that ends has done.
func PrintRules(e *Env, all []rules.Counted) {
	for _, r := range all {
		fmt.Fprintf(e.Errw, "rule %d, %s %s: matched %d, fired %d\n", r.Number, output.OneLine(r.Source), r.Method, r.Matched, r.Fired)
	}
}
