package shell

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
)

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
