package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// maxFile bounds a docker config file.
const maxFile = 10 << 20

// Files are docker config files in the order of preference: the first one that can be
// read is used.
type Files struct {
	Paths []string
	// Required: it is an error if the file cannot be read.
	Required bool
	Log      *slog.Logger
}

// kubeletDir is where the kubelet looks first.
const kubeletDir = "/var/lib/kubelet"

// ForNode returns the files that the kubelet looks for (pkg/credentialprovider/config.go),
// those of $DOCKER_CONFIG before those of the home directory.
func ForNode(log *slog.Logger) Files {
	dirs := append([]string{kubeletDir}, dockerDirs()...)
	return Files{Paths: paths(append(dirs, "/.docker"), kubeletDir, home(), "/"), Log: log}
}

// ForUser returns the files of docker, then those of the kubelet.
func ForUser(log *slog.Logger) Files {
	dirs := append(dockerDirs(), kubeletDir, "/.docker")
	return Files{Paths: paths(dirs, home(), kubeletDir, "/"), Log: log}
}

// File returns one file, which must be readable.
func File(path string) Files {
	return Files{Paths: []string{path}, Required: true}
}

func paths(dirs []string, legacy ...string) []string {
	var all []string
	for _, dir := range dirs {
		all = append(all, filepath.Join(dir, "config.json"))
	}
	for _, dir := range legacy {
		if dir != "" {
			all = append(all, filepath.Join(dir, legacyName))
		}
	}
	return all
}

// legacyName is a file that holds nothing but auths.
const legacyName = ".dockercfg"

func dockerDirs() []string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return []string{dir}
	}
	if dir := home(); dir != "" {
		return []string{filepath.Join(dir, ".docker")}
	}
	return nil
}

// home returns the home directory, "" for none.
func home() string {
	dir, _ := os.UserHomeDir() // "" with the error
	return dir
}

// configFile is what podctl reads of a docker config file.
type configFile struct {
	Auths       dockerConfig      `json:"auths"`
	CredHelpers map[string]string `json:"credHelpers"`
	CredsStore  string            `json:"credsStore"`
}

// Credentials returns the credentials for an image: that of the credential helper of
// its registry, then those that the file itself holds. What cannot be used is an error
// beside the rest.
func (f Files) Credentials(ctx context.Context, image string) ([]*runtimeapi.AuthConfig, error) {
	config, keys, err := f.read()
	if err != nil {
		return nil, err
	}
	var found []*runtimeapi.AuthConfig
	if helper := config.helper(serverOf(image)); helper != "" {
		auth, helperErr := askHelper(ctx, helper, serverOf(image))
		if err = helperErr; auth != nil {
			found = append(found, auth)
		}
	}
	return append(found, keys.Lookup(image)...), err
}

// helper returns the name of the helper for a registry, "" for none.
func (c configFile) helper(server string) string {
	if server == "" {
		return ""
	}
	if name, ok := c.CredHelpers[server]; ok {
		return name
	}
	if server == hubServer {
		for _, alias := range []string{"docker.io", dockerHub} {
			if name, ok := c.CredHelpers[alias]; ok {
				return name
			}
		}
	}
	return c.CredsStore
}

// read reads the first file that can be used; one that cannot is passed over, as the
// kubelet does, unless it was asked for.
func (f Files) read() (configFile, Keyring, error) {
	for _, path := range f.Paths {
		config, keys, err := readConfig(path)
		switch {
		case err == nil:
			return config, keys, nil
		case f.Required:
			return configFile{}, nil, err
		case !errors.Is(err, fs.ErrNotExist):
			f.Log.Warn("registry credentials are not used", "err", err)
		}
	}
	return configFile{}, nil, nil
}

func readConfig(path string) (config configFile, keys Keyring, err error) {
	data, err := bounded.Read(path, maxFile)
	if err != nil {
		return config, nil, fmt.Errorf("read registry config: %w", err)
	}
	into := any(&config)
	if filepath.Base(path) == legacyName {
		into = &config.Auths
	}
	if json.Unmarshal(data, into) != nil { // its text may contain parts of the file
		return config, nil, fmt.Errorf("read registry config %s: it is not a docker config file", path)
	}
	// docker leaves an empty entry for each registry whose credentials a helper keeps.
	for registry, auth := range config.Auths {
		if auth == (dockerAuth{}) {
			delete(config.Auths, registry)
		}
	}
	keys = Keyring{}
	if err := keys.add(config.Auths); err != nil {
		return config, nil, fmt.Errorf("read registry config %s: %w", path, err)
	}
	return config, keys, nil
}

// ParseLogin parses USER:PASSWORD. Its error contains neither.
func ParseLogin(text string) (*runtimeapi.AuthConfig, error) {
	user, password, ok := strings.Cut(text, ":")
	if !ok || user == "" {
		return nil, errors.New("it is not USER:PASSWORD")
	}
	return &runtimeapi.AuthConfig{Username: user, Password: password}, nil
}
