package report

import (
	"strings"
	"testing"
)

// planted stands for the secret in the inputs of the table. It has the characters of a
// password, so that no rule matches it by chance.
const planted = "pl4nted-S3cret"

func TestMaskEveryPlace(t *testing.T) {
	for name, text := range map[string]string{
		"JSON":                         `{"password": "pl4nted-S3cret", "host": "db"}`,
		"JSON in JSON":                 `{"config": "{\"auth\":\"pl4nted-S3cret\",\"x\":1}"}`,
		"JSON in JSON in JSON":         `"{\"a\":\"{\\\"identitytoken\\\":\\\"pl4nted-S3cret\\\"}\"}"`,
		"TOML of containerd":           "[plugins.\"io.containerd.grpc.v1.cri\".registry.configs.\"r.test\".auth]\n  username = \"robot\"\n  password = \"pl4nted-S3cret\"\n  auth = 'pl4nted-S3cret'\n",
		"hosts.toml":                   "[host.\"https://r.test\".header]\n  Authorization = [\"Basic pl4nted-S3cret\"]\n",
		"hosts.toml, header on a line": "  Authorization = [\n    \"Bearer pl4nted-S3cret\"\n  ]\n",
		"YAML":                         "users:\n- name: node\n  user:\n    token: pl4nted-S3cret\n",
		"YAML, key data":               "    client-key-data: pl4nted-S3cret\n",
		"YAML, quoted":                 "  bearerToken: 'pl4nted-S3cret'\n",
		"docker config":                `{"auths": {"r.test": {"auth": "pl4nted-S3cret"}}}`,
		"flag with =":                  "kubelet --registry-password=pl4nted-S3cret --v=2",
		"flag with a blank":            "agent --token pl4nted-S3cret --v 2",
		"flag in an array":             `["sh", "--api-key", "pl4nted-S3cret"]`,
		"variable":                     "DB_PASSWORD=pl4nted-S3cret",
		"variable in JSON":             `"env": ["AWS_SECRET_ACCESS_KEY=pl4nted-S3cret"]`,
		"header":                       "Authorization: Bearer pl4nted-S3cret",
		"header, basic":                "authorization: basic pl4nted-S3cret",
		"URL":                          "pull http://user:pl4nted-S3cret@registry.test:5000/v2/",
		"URL, token as user":           "fetch https://pl4nted-S3cret@git.test/a.git",
		"query":                        "GET https://bucket.test/layer?X-Amz-Signature=pl4nted-S3cret&X-Amz-Date=1",
		"query, sig":                   "https://blob.test/a?sv=1&sig=pl4nted-S3cret",
		"private key":                  "-----BEGIN RSA PRIVATE KEY-----\npl4nted-S3cret\n-----END RSA PRIVATE KEY-----\n",
		"private key that is cut":      "-----BEGIN PRIVATE KEY-----\npl4nted-S3cret\n",
		"log with key and value":       `level=error msg="pull failed" token=pl4nted-S3cret image=a`,
		"flag with one dash":           "app -password pl4nted-S3cret -v",
		"pair in JSON":                 `[{"key": "DB_PASSWORD", "value": "pl4nted-S3cret"}]`,
		"pair in JSON in JSON":         `"[{\"name\":\"API_TOKEN\",\"value\":\"pl4nted-S3cret\"}]"`,
		"pair in YAML":                 "env:\n- name: API_TOKEN\n  value: pl4nted-S3cret\n",
		"pair as Go prints it":         `Envs:[]*KeyValue{&KeyValue{Key:DB_PASSWORD,Value:a,pl4nted-S3cret,},}`,
		"variable, short":              "MYSQL_PWD=pl4nted-S3cret",
		"variable with any character":  "DB_PASS=a,&]pl4nted-S3cret",
		"key of an account":            "AccountName=a;AccountKey=pl4nted-S3cret==",
		"key to sign":                  `"SIGNING_KEY": "pl4nted-S3cret"`,
		"YAML, block":                  "a:\n  password: |\n    x\n\n    pl4nted-S3cret\n  user: b\n",
		"YAML, flow":                   "{user: a, password: pl4nted-S3cret}",
		"log, header":                  `level=debug msg="request X-Registry-Auth: pl4nted-S3cret"`,
		"cookie":                       "request with Cookie: session=pl4nted-S3cret; a=b",
		"URL, @ in a password":         "postgres://user:p@pl4nted-S3cret@db.test/x",
		"klog":                         `I1127 07:00:00.0 1 x.go:1] "Pulling" auth="pl4nted-S3cret"`,
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMasker(nil, nil)
			got := m.Text(text)
			if strings.Contains(got, planted) {
				t.Errorf("%q is not masked: %s", planted, got)
			}
			n := 0
			for _, masked := range m.Masked() {
				n += masked.Count
			}
			if n == 0 || !strings.Contains(got, "***") {
				t.Errorf("%d counted: %s", n, got)
			}
		})
	}
	m := NewMasker([][]byte{[]byte(planted), []byte("default")}, func() []byte { return []byte("default/web") })
	if got, want := m.Text("login pl4nted-S3cret in default"), "login *** in default"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	jwt := "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl"
	if got := NewMasker(nil, nil).Text("got " + jwt + " from kubelet"); got != "got *** from kubelet" {
		t.Errorf("%q", got)
	}
}

// What a diagnosis needs stays.
func TestMaskLeavesOtherTextAlone(t *testing.T) {
	for _, text := range []string{
		`secret "web-tls" not found`,
		`MountVolume.SetUp failed for volume "token" : references non-existent secret key: tls.key`,
		"failed to fetch oauth token: unexpected status: 401 Unauthorized",
		`Www-Authenticate: Bearer realm="https://auth.test/token",service="registry"`,
		"volumes:\n- secret: {secretName: web-tls}\n",
		"    secretName: web-tls\n", `"secretName": "web-tls"`, `"imagePullSecrets": [{"name": "registry"}]`,
		"authentication:\n  anonymous:\n    enabled: false\n", "authorization:\n  mode: Webhook\n", "automountServiceAccountToken: true\n",
		"image registry.k8s.io/pause@sha256:abc", "basic authentication is required", `"token": "", "password": null`,
		"  tokenFile: /var/run/token\n", "--tls-private-key-file=/etc/key.pem", "author=me", "burstTokens=10", "a:\n  tokenTTL: |\n    1h\n", "- name: registry-token\n  image: a\n", "bypass: true", "x-kubernetes-list-type: atomic", "default/auth-proxy-1 Running",
	} {
		if got := NewMasker(nil, nil).Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Whatever a text is, a secret in it is masked, and the rest is not touched.
func FuzzMask(f *testing.F) {
	f.Add("a\xff --token ", "\n")
	f.Add(`{"x": "\\"`, `"}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		got := NewMasker(nil, nil).Text(before + "\npassword=" + planted + "\n" + after)
		if strings.Contains(got, planted) && !strings.Contains(before, planted) && !strings.Contains(after, planted) {
			t.Errorf("%q", got)
		}
	})
}

func TestMaskedListsEveryRuleOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range NewMasker(nil, nil).Masked() {
		if seen[m.What] {
			t.Errorf("%q twice", m.What)
		}
		seen[m.What] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d rules", len(seen))
	}
}
