package volume

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func tokenVolume() v1.Volume {
	return projectedVolume(0o644,
		v1.VolumeProjection{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token"}},
		v1.VolumeProjection{ConfigMap: &v1.ConfigMapProjection{
			LocalObjectReference: local("kube-root-ca.crt"), Optional: new(true), Items: []v1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
		}})
}

func TestTokenFollowsFile(t *testing.T) {
	c := mounting(t, tokenVolume())
	if _, err := c.mount(); err == nil || !strings.Contains(err.Error(), "--service-account") {
		t.Errorf("without a file: %v", err)
	}
	file := filepath.Join(t.TempDir(), "token")
	c.m.UseToken(file)
	for _, token := range []string{"first.token\n", "second.token"} {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(c.mustMount(), "token")
		data, err := os.ReadFile(at)
		if err != nil || string(data) != strings.TrimSpace(token) {
			t.Errorf("token %q, %v", data, err)
		}
		if info, err := os.Stat(at); err != nil || info.Mode() != 0o644 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if err := os.WriteFile(file, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.mount(); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("empty: %v", err)
	}
}

func TestTokenOwnerAndMode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mounting(t, tokenVolume())
	c.m.UseToken(file)
	c.group(2000)
	c.p.Spec.SecurityContext.RunAsUser = ptr.To[int64](1000)
	info, err := os.Stat(filepath.Join(c.mustMount(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	if info.Mode().Perm() != 0o640 || st.Uid != 1000 || st.Gid != 2000 {
		t.Errorf("mode %o, user %d, group %d", info.Mode().Perm(), st.Uid, st.Gid)
	}
	c.p.Spec.Containers = append(c.p.Spec.Containers, v1.Container{Name: "other", SecurityContext: &v1.SecurityContext{RunAsUser: ptr.To[int64](3)}})
	if onlyUser(c.p) != nil {
		t.Error("containers of two users have one user")
	}
}
