package volume

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// maxToken bounds a file with a token, in bytes; tokens have one or two thousand.
const maxToken = 64 << 10

// UseToken makes the token in a file that of all service accounts. The file is read
// whenever a volume with a token is brought up to date. It is not for use while
// volumes are mounted.
func (m *Manager) UseToken(file string) { m.token = file }

// ReadToken returns the token in a file, without white space around it. No error
// shows it.
func ReadToken(file string) ([]byte, error) {
	data, err := bounded.Read(file, maxToken)
	if err != nil {
		return nil, fmt.Errorf("read service account token: %w", err)
	}
	token := bytes.TrimSpace(data)
	if len(token) == 0 {
		return nil, fmt.Errorf("read service account token: %s is empty", file)
	}
	return token, nil
}

var errNoToken = errors.New("there is no service account token: podctl was started without --service-account=FILE")

// tokenFiles returns the token as a projected volume has it. Where the containers have one
// user or the pod has an fsGroup, only these can read it
// (pkg/volume/projected/projected.go).
func tokenFiles(r request, s *v1.ServiceAccountTokenProjection, mode *int32) (files, error) {
	if r.token == "" {
		return nil, errNoToken
	}
	token, err := ReadToken(r.token)
	if err != nil {
		return nil, err
	}
	f := file{data: token, mode: os.FileMode(*mode), user: onlyUser(r.pod)}
	if f.user != nil || fsGroup(r.pod) != nil {
		f.mode = 0o600
	}
	return files{s.Path: f}, nil
}

// onlyUser returns the user that all containers run as, nil if there is none
// (FsUserFrom in pkg/volume/util/util.go).
func onlyUser(p *v1.Pod) *int64 {
	var user *int64
	for c := range pod.AllContainers(p) {
		var own *int64
		if s := p.Spec.SecurityContext; s != nil {
			own = s.RunAsUser
		}
		if s := c.SecurityContext; s != nil && s.RunAsUser != nil {
			own = s.RunAsUser
		}
		if own == nil || user != nil && *user != *own {
			return nil
		}
		user = own
	}
	return user
}
