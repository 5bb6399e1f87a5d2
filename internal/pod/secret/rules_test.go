package secret

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
		"URL, escaped":                 `"postgres://u:\u0026pl4nted-S3cret@db/x"`,
		"URL, slash in a password":     "postgres://u:a/pl4nted-S3cret@db/x",
		"DSN of Go":                    "dial root:pl4nted-S3cret@tcp(db:3306)/x",
		"DSN with words":               "Server=db;User Id=a;Password=pl4nted-S3cret;",
		"DSN of Oracle":                "jdbc:oracle:thin:scott/pl4nted-S3cret@//db:1521/x",
		"redis without a user":         "redis://:pl4nted-S3cret@cache:6379/0",
		"setting escaped in JSON":      `{"a":"{\"password\":\"a\u0026pl4nted-S3cret\"}"}`,
		"variable escaped in JSON":     `"DB_PASSWORD=a\u0026 pl4nted-S3cret"`,
		"quote in a setting":           `{"password":"a\"pl4nted-S3cret"}`,
		"quote in JSON in JSON":        `"{\"password\":\"a\\\"pl4nted-S3cret\"}"`,
		"word of a shell":              `export DB_PASS='a'\''pl4nted-S3cret'`,
		"PGP":                          "-----BEGIN PGP PRIVATE KEY BLOCK-----\npl4nted-S3cret\n-----END PGP PRIVATE KEY BLOCK-----",
		"PuTTY":                        "Private-Lines: 2\nAAAA\npl4nted-S3cret",
		"AWS":                          "aws_secret_access_key = pl4nted-S3cret",
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
	if len(seen) != len(rules)+1 {
		t.Errorf("%d rules", len(seen))
	}
}

// Tokens of well-known services have no name beside them.
func TestMaskTokensByPrefix(t *testing.T) {
	const body = "0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T"
	for _, s := range shapes {
		token := s.prefix + body
		for _, text := range []string{"pull " + token + " failed", `{"x":"` + token + `"}`, `{"x":"{\"y\":\"a\n` + token + `\"}"}`, "curl -H x:" + token, `a\u0026` + token} {
			if got := NewMasker(nil, nil).Text(text); strings.Contains(got, body[:16]) {
				t.Errorf("%s: %s", s.prefix, got)
			}
		}
	}
	for _, text := range []string{"task-1234567890123456789", "risk-assessment-of-something", "default/sk-web-deployment-abcdefgh", "ghp_short", "disk-0123456789abcdef01"} {
		if got := NewMasker(nil, nil).Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Programs take passwords in arguments that have no name.
func TestMaskArgumentsOfPrograms(t *testing.T) {
	for _, text := range []string{
		"mysql -uroot -ppl4nted-S3cret db", "/usr/bin/mysqldump -u root -ppl4nted-S3cret", "sh -c 'mariadb-admin -h db -ppl4nted-S3cret ping'", `["mysqladmin","ping","-ppl4nted-S3cret"]`,
		`{"c":"[\"mysql\",\"-ppl4nted-S3cret\"]"}`, "command:\n- mysql\n- -ppl4nted-S3cret\n", "curl -s -u admin:pl4nted-S3cret https://a.test", "curl -uadmin:pl4nted-S3cret x", "curl --user=a:pl4nted-S3cret",
		"sshpass -p pl4nted-S3cret ssh a", "docker login -u me -p pl4nted-S3cret r.test", "redis-cli -h a -a pl4nted-S3cret ping", "mongosh -u a -p pl4nted-S3cret", "skopeo copy --src-creds u:pl4nted-S3cret a b",
		"mysql -p'pl4nted-S3cret x' a", `mysql -p"pl4nted-S3cret" a`, "ldapsearch -x -w pl4nted-S3cret", "ctr images pull -u u:pl4nted-S3cret a", "mysql \\\n  -ppl4nted-S3cret", "mysql -ppl4nted-S3cret; mysql -ppl4nted-S3cret",
		"curl -u '' -U proxy:pl4nted-S3cret x",
	} {
		if got := NewMasker(nil, nil).Text(text); strings.Contains(got, planted) {
			t.Errorf("%s", got)
		}
	}
	for _, text := range []string{"podctl -p 80", "mysqld --port=3306", "docker run -p 8080:80 a", "curl -s http://a.test/b", "ps -p 12", "the mysql pod is down", "kubelet --v=2 -p x"} {
		if got := NewMasker(nil, nil).Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	got := NewMasker(nil, nil).Tree(map[string]any{"args": []any{"timeout", "9", "mysql", "-p" + planted, "--password", planted, "-h", "db"}})
	if text := got.(map[string]any)["args"]; len(text.([]any)) != 8 || strings.Contains(strings.Join(texts(text), " "), planted) || texts(text)[7] != "db" {
		t.Errorf("%v", got)
	}
}

func texts(list any) (all []string) {
	for _, v := range list.([]any) {
		all = append(all, v.(string))
	}
	return all
}

func TestSecretNames(t *testing.T) {
	for _, name := range []string{
		"DB_PW", "DB_PW2", "dbPw", "MYSQL_PASS", "PASS", "DB_PASS_1", "userpass", "DATABASE_DSN", "SENTRY_DSN", "GH_PAT", "AZDO_PAT", "SALT", "password_salt", "CREDS", "AWS_CREDENTIALS", "credentials", "db-credential",
		"X-Api-Key", "accessKey", "client_key", "SIGNING_KEY", ".dockerconfigjson-secret", "auths", "refresh_token", "OTP", "JWT", "connectionString", "SLACK_WEBHOOK_URL", "PASSWORD_FILE_CONTENT", "sshpass", "BYPASS_TOKEN",
	} {
		if !isSecretKey(name) || !isSecretVariable(name) {
			t.Errorf("%s: setting %t, variable %t", name, isSecretKey(name), isSecretVariable(name))
		}
	}
	for _, name := range []string{"BYPASS", "PASSTHROUGH", "compass", "passive", "PATH", "HOST", "author", "keyboard", "monkey", "podSandboxId", "pattern", "patch", "spwn", "signal", "signals", "tokensPath", "passed"} {
		if isSecretKey(name) {
			t.Errorf("%s is taken for a secret", name)
		}
	}
	for _, name := range []string{"STRIPE_KEY", "AUTH_URL", "PRIVATE_THING", "TOKEN_FILE"} {
		if !isSecretVariable(name) {
			t.Errorf("%s is not taken for a secret", name)
		}
	}
}
