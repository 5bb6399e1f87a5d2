package manifest

import (
	"strings"
	"testing"
)

// TestServiceFields: what of a Service podctl does not serve is refused by name.
func TestServiceFields(t *testing.T) {
	for change, want := range map[string]string{
		"":                             "",
		"  clusterIP: None\n":          "",
		"  clusterIP: 10.96.0.99\n":    "",
		"  type: LoadBalancer\n":       "warning: the Service is served as a NodePort",
		"  externalIPs: [192.0.2.1]\n": "spec.externalIPs",
		"  loadBalancerSourceRanges: [192.0.2.0/24]\n":       "spec.loadBalancerSourceRanges",
		"  ipFamilies: [IPv6]\n":                             "spec.ipFamilies",
		"  ipFamilyPolicy: RequireDualStack\n":               "spec.ipFamilyPolicy",
		"  - {port: 1, protocol: SCTP, name: b}\n":           "spec.ports[1].protocol",
		"  - {port: 80, name: b}\n":                          "spec.ports[1]: Duplicate value",
		"  type: NodePort\n  externalTrafficPolicy: Local\n": "warning: ignored: connections at node ports",
	} {
		text := "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  selector: {app: web}\n  ports:\n  - {port: 80, name: a}\n" + change
		check(t, text, want)
	}
	slice := "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: web, labels: {kubernetes.io/service-name: web}}\nports: [{port: 80}]\nendpoints: [{addresses: [\"192.0.2.1\"]}]\n"
	check(t, slice+"addressType: IPv4\n", "")
	for _, address := range []string{"127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "192.0.2.1.example"} {
		check(t, strings.Replace(slice, "192.0.2.1", address, 1)+"addressType: IPv4\n", "endpoints[0].addresses[0]")
	}
	for _, port := range []string{"-5", "0", "70000"} {
		check(t, strings.Replace(slice, "port: 80", "port: "+port, 1)+"addressType: IPv4\n", "ports[0].port: Invalid value: "+port)
	}
	check(t, strings.Replace(slice, "192.0.2.1", "fd00::1", 1)+"addressType: IPv6\n", "addressType")
}

// TestNodePortsOutsideTheRangeAreRefused: the API server's allocator refuses them.
func TestNodePortsOutsideTheRangeAreRefused(t *testing.T) {
	for port, want := range map[string]string{
		"30000": "", "32767": "",
		"-1": "30000-32767", "22": "30000-32767", "53": "30000-32767", "29999": "30000-32767", "32768": "30000-32767", "70000": "30000-32767",
	} {
		if want != "" {
			want = "spec.ports[0].nodePort: Invalid value: " + port + ": provided port is not in the valid range. The range of valid ports is " + want
		}
		check(t, "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  type: NodePort\n  selector: {app: web}\n  ports:\n  - {port: 80, nodePort: "+port+"}\n", want)
	}
}

func check(t *testing.T, text, want string) {
	t.Helper()
	set, err := Load(t.Context(), []string{"-"}, LoadOptions{Stdin: strings.NewReader(text)})
	if warning, isWarning := strings.CutPrefix(want, "warning: "); isWarning {
		if err != nil || len(set.Warnings) != 1 || !strings.Contains(set.Warnings[0].Message, warning) {
			t.Errorf("%v, warnings %v, want %q, of\n%s", err, set.Warnings, warning, text)
		}
		return
	}
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || want == "" && len(set.Warnings) > 0 {
		t.Errorf("%v, want %q, warnings %v, of\n%s", err, want, set.Warnings, text)
	}
}
