package credential

import (
	"encoding/base64"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// logins are USER:PASSWORD, or token:TOKEN, in the order in which they are tried.
func logins(t *testing.T, s Source, image string) []string {
	t.Helper()
	found, err := s.Credentials(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, a := range found {
		if a.IdentityToken != "" {
			all = append(all, "token:"+a.IdentityToken)
			continue
		}
		all = append(all, a.Username+":"+a.Password)
	}
	return all
}

// helper puts a credential helper into the search path.
func helper(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, helperPrefix+name), "#!/bin/sh\n"+script, 0o700)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestFirstReadableConfigFile(t *testing.T) {
	dir := t.TempDir()
	auth := func(user string) string {
		return `{"auths": {"r.io": {"auth": "` + base64.StdEncoding.EncodeToString([]byte(user+":p")) + `"}}}`
	}
	f := Files{Log: slog.New(slog.DiscardHandler), Paths: []string{
		filepath.Join(dir, "missing", "config.json"),
		write(t, filepath.Join(dir, "broken", "config.json"), `{"auths": hunter2}`, 0o600),
		write(t, filepath.Join(dir, "bad", "config.json"), `{"auths": {"r.io": {"auth": "hunter2!"}}}`, 0o600),
		write(t, filepath.Join(dir, "good", "config.json"), auth("first"), 0o600),
		write(t, filepath.Join(dir, "later", "config.json"), auth("second"), 0o600),
	}}
	if got := logins(t, f, "r.io/app:1"); !slices.Equal(got, []string{"first:p"}) {
		t.Errorf("got %q", got)
	}
	legacy := Files{Paths: []string{write(t, filepath.Join(dir, legacyName), `{"r.io": {"username": "old", "password": "p"}}`, 0o600)}}
	if got := logins(t, legacy, "r.io/app:1"); !slices.Equal(got, []string{"old:p"}) {
		t.Errorf("legacy file: got %q", got)
	}
}

func TestExplicitConfigFileMustBeReadable(t *testing.T) {
	for _, text := range []string{`hunter2`, `{"auths": "hunter2"}`, `{"auths": {"r.io": {"auth": "hunter2!"}}}`} {
		_, err := File(write(t, filepath.Join(t.TempDir(), "config.json"), text, 0o600)).Credentials(t.Context(), "r.io/app")
		if err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := File("/nonexistent/config.json").Credentials(t.Context(), "r.io/app"); err == nil {
		t.Error("no error for a missing file")
	}
	fifo := t.TempDir()
	if _, err := File(fifo).Credentials(t.Context(), "r.io/app"); err == nil {
		t.Error("no error for a directory")
	}
}

// The search order is that of the kubelet; docker's own directory first for a user.
func TestConfigFileSearchPaths(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	t.Setenv("DOCKER_CONFIG", "")
	if got, want := ForNode(nil).Paths, []string{"/var/lib/kubelet/config.json", "/home/u/.docker/config.json", "/.docker/config.json", "/var/lib/kubelet/.dockercfg", "/home/u/.dockercfg", "/.dockercfg"}; !slices.Equal(got, want) {
		t.Errorf("node: %q, want %q", got, want)
	}
	t.Setenv("DOCKER_CONFIG", "/etc/d")
	if got, want := ForUser(nil).Paths[:2], []string{"/etc/d/config.json", "/var/lib/kubelet/config.json"}; !slices.Equal(got, want) {
		t.Errorf("user: %q, want %q", got, want)
	}
}

func TestHelperIsAskedForRegistry(t *testing.T) {
	helper(t, "one", `[ "$1" = get ] || exit 1
read server
echo '{"ServerURL": "'$server'", "Username": "at-'$server'", "Secret": "s"}'`)
	helper(t, "token", `echo '{"ServerURL": "x", "Username": "<token>", "Secret": "t"}'`)
	helper(t, "none", `echo credentials not found in native keychain; exit 1`)
	f := File(write(t, filepath.Join(t.TempDir(), "config.json"), `{
		"credsStore": "one",
		"credHelpers": {"token.io": "token", "none.io": "none"},
		"auths": {"stored.io": {}, "none.io": {"username": "file", "password": "p"}, "id.io": {"identitytoken": "i"}}}`, 0o600))
	for image, want := range map[string][]string{
		"stored.io:5000/app:1": {"at-stored.io:5000:s"},
		"busybox":              {"at-https://index.docker.io/v1/:s"},
		"token.io/app":         {"token:t"},
		"none.io/app":          {"file:p"},
		"id.io/app":            {"at-id.io:s", "token:i"},
	} {
		if got := logins(t, f, image); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", image, got, want)
		}
	}
}

// What a helper prints may be a password, and is in no error. The credentials of the
// file are returned beside the error.
func TestHelperErrorHidesOutput(t *testing.T) {
	helper(t, "fails", `echo hunter2; echo hunter2 >&2; exit 3`)
	helper(t, "garbage", `echo hunter2`)
	helper(t, "endless", `exec yes hunter2`)
	for _, name := range []string{"fails", "garbage", "endless", "missing", "../bin/sh", ""} {
		text := `{"credHelpers": {"r.io": "` + name + `"}, "auths": {"r.io": {"username": "u", "password": "p"}}}`
		if name == "" {
			text = strings.Replace(text, `"r.io": ""`, `"r.io": "a/b"`, 1)
		}
		f := File(write(t, filepath.Join(t.TempDir(), "config.json"), text, 0o600))
		found, err := f.Credentials(t.Context(), "r.io/app")
		if err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("helper %q: %v", name, err)
		}
		if len(found) != 1 || found[0].Username != "u" {
			t.Errorf("helper %q: %d credentials", name, len(found))
		}
	}
}

func TestParseLogin(t *testing.T) {
	got, err := ParseLogin("me:se:cret")
	if err != nil || got.Username != "me" || got.Password != "se:cret" {
		t.Errorf("%v %v", got, err)
	}
	for _, text := range []string{"", "me", ":secret"} {
		if _, err := ParseLogin(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
