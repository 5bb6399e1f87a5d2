package event

import "testing"

func TestHostPortText(t *testing.T) {
	for want, set := range map[string]func(h *HostPort){
		"default/web has port 8080/TCP":                                           func(*HostPort) {},
		"default/web has port 127.0.0.1:8080/TCP":                                 func(h *HostPort) { h.Address = "127.0.0.1" },
		"default/web has port [::1]:8080/TCP":                                     func(h *HostPort) { h.Address = "::1" },
		"default/web (of podctl agent) has port 8080/TCP":                         func(h *HostPort) { h.ManagedBy("agent") },
		"default/web (created by podctl run-1) has port 8080/TCP":                 func(h *HostPort) { h.CreatedAs("run-1", false) },
		"default/web (created by a kubelet) has port 8080/TCP":                    func(h *HostPort) { h.CreatedAs("", true) },
		"default/web (created by neither podctl nor a kubelet) has port 8080/TCP": func(h *HostPort) { h.CreatedAs("", false) },
	} {
		h := &HostPort{Port: 8080, Protocol: "TCP", Namespace: "default", Name: "web"}
		set(h)
		if got := h.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
