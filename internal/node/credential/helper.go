package credential

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/distribution/reference"
	"github.com/docker/docker-credential-helpers/client"
	"github.com/docker/docker-credential-helpers/credentials"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// helperPrefix begins the names of credential helpers.
	helperPrefix = "docker-credential-"
	// hubServer is what docker calls Docker Hub towards a helper.
	hubServer = "https://index.docker.io/v1/"
	// tokenUser is the user name by which a helper marks an identity token.
	tokenUser = "<token>"
)

// serverOf returns the server name that docker uses for an image's registry, "" for an
// invalid image name.
func serverOf(image string) string {
	ref, err := reference.ParseNormalizedNamed(image)
	switch {
	case err != nil:
		return ""
	case reference.Domain(ref) == "docker.io":
		return hubServer
	}
	return reference.Domain(ref)
}

// askHelper asks a credential helper for a registry; nil if it has nothing for it.
func askHelper(ctx context.Context, helper, server string) (*runtimeapi.AuthConfig, error) {
	if helper == "" || strings.ContainsAny(helper, `/\`) {
		return nil, fmt.Errorf("credential helper %q: it is not the name of a program", helper)
	}
	p := &helperProgram{ctx: ctx, path: helperPrefix + helper}
	got, err := client.Get(func(args ...string) client.Program { p.args = args; return p }, server)
	switch {
	case credentials.IsErrCredentialsNotFound(err), err == nil && got.Username == "" && got.Secret == "":
		return nil, nil
	case p.err != nil:
		return nil, fmt.Errorf("credential helper %q: %w", helper, p.err)
	case err != nil: // its text may contain what the helper printed
		return nil, fmt.Errorf("credential helper %q: its answer is not that of a credential helper", helper)
	case got.Username == tokenUser:
		return &runtimeapi.AuthConfig{IdentityToken: got.Secret}, nil
	}
	return &runtimeapi.AuthConfig{Username: got.Username, Password: got.Secret}, nil
}

// helperProgram runs a helper within bounds.
type helperProgram struct {
	ctx  context.Context
	path string
	args []string
	in   io.Reader
	err  error
}

var _ client.Program = (*helperProgram)(nil)

// Input implements client.Program.
func (p *helperProgram) Input(in io.Reader) { p.in = in }

// Output implements client.Program.
func (p *helperProgram) Output() (out []byte, err error) {
	out, p.err = run(p.ctx, p.path, p.args, nil, p.in)
	return out, p.err
}
