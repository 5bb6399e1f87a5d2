package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/services"
	"github.com/podctl/podctl/test/live"
)

// tier is a Deployment and its Service in a shop of micro-services, the dependencies and ports of which
// are those of Google's Online Boutique.
type tier struct {
	name         string
	port, target int
	asks         string
}

var shop = []tier{
	{"redis-cart", 6379, 6379, ""},
	{"productcatalogservice", 3550, 3550, ""},
	{"currencyservice", 7000, 7000, ""},
	{"paymentservice", 50051, 50051, ""},
	{"shippingservice", 50051, 50051, ""},
	{"emailservice", 5000, 8080, ""},
	{"adservice", 9555, 9555, ""},
	{"cartservice", 7070, 7070, "redis-cart:6379"},
	{"recommendationservice", 8080, 8080, "productcatalogservice:3550"},
	{"checkoutservice", 5050, 5050, "productcatalogservice:3550 shippingservice:50051 paymentservice:50051 emailservice:5000 currencyservice:7000 cartservice:7070"},
	{"frontend", 80, 8080, "productcatalogservice:3550 currencyservice:7000 cartservice:7070 recommendationservice:8080 shippingservice:50051 checkoutservice:5050 adservice:9555"},
	{"loadgenerator", 8089, 8089, "frontend frontend.default frontend.default.svc.cluster.local"},
}

// manifest is a tier that serves its name, and is ready when all that it asks has answered.
func (m tier) manifest() string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec:
  selector: {app: %[1]s}
  ports: [{name: app, port: %[2]d, targetPort: %[3]d}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 2
      containers:
      - name: c
        image: docker.io/library/busybox:latest
        imagePullPolicy: IfNotPresent
        command:
        - sh
        - -c
        - |
          trap "exit 0" TERM
          mkdir /tmp/www; echo %[1]s > /tmp/www/index.html
          httpd -p %[3]d -h /tmp/www
          for a in %[4]s; do
            until [ "$(wget -qO- http://$a)" = "${a%%%%[.:]*}" ]; do sleep 1; done
          done
          touch /tmp/www/ready
          while true; do sleep 1d & wait; done
        readinessProbe: {periodSeconds: 1, timeoutSeconds: 5, httpGet: {path: /ready, port: %[3]d}}
---
`, m.name, m.port, m.target, m.asks)
}

// outside are Services of other types: the shop's frontend at a port of the machine, all catalogs by a
// name without an address, an alias, and one that selects no pod.
const outside = `
apiVersion: v1
kind: Service
metadata: {name: frontend-external}
spec:
  type: NodePort
  selector: {app: frontend}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: Service
metadata: {name: catalogs}
spec:
  clusterIP: None
  selector: {app: productcatalogservice}
  ports: [{name: app, port: 3550}]
---
apiVersion: v1
kind: Service
metadata: {name: alias}
spec: {type: ExternalName, externalName: frontend.default.svc.cluster.local}
---
apiVersion: v1
kind: Service
metadata: {name: nothing}
spec:
  selector: {app: nothing}
  ports: [{port: 80}]
---
`

// many is a Service of 5,000 endpoints that are none of this machine.
func many() string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Service\nmetadata: {name: many}\nspec: {ports: [{port: 80}]}\n---\n")
	for i := range 5 {
		fmt.Fprintf(&b, "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: many-%d, labels: {kubernetes.io/service-name: many}}\naddressType: IPv4\nports: [{port: 80}]\nendpoints:\n", i)
		for n := range 1000 {
			fmt.Fprintf(&b, "- addresses: [198.18.%d.%d]\n", 4*i+n/250, n%250)
		}
		b.WriteString("---\n")
	}
	return b.String()
}

// servicesPlace is an agent with the shop.
type servicesPlace struct {
	*agentPlace
	service map[string]services.Service
}

// TestServices runs a shop of twelve tiers, each of which asks the next by name. One runtime comes after
// the other: one podctl serves the names of a machine.
func TestServices(t *testing.T) {
	for _, kind := range live.Kinds() {
		t.Run(kind, func(t *testing.T) {
			p := &servicesPlace{agentPlace: withAgent(t, live.Runtime(t, kind))}
			var all strings.Builder
			for _, tier := range shop {
				all.WriteString(tier.manifest())
			}
			p.put("shop.yaml", all.String()+outside+many())
			agent := p.agent("--drain")
			began := time.Now()
			p.ready()
			t.Logf("every tier has reached the next after %s", time.Since(began).Round(time.Second))
			p.names(t)
			p.reach(t)
			p.pace(t)

			agent.ends(syscall.SIGKILL, -1)
			next := p.agent("--drain")
			p.ready()
			p.reach(t)
			next.ends(syscall.SIGKILL, -1)
			last := p.agent("--drain")
			p.ready() // by what the one before has left: its pods are adopted a moment later
			eventually(t, "the last agent adopts all pods", func() bool {
				out, _ := last.output()
				return strings.Count(out, "it continues") == len(shop)
			}, func() string { return p.does("pods") })
			last.ends(syscall.SIGTERM, 0)
			if left := servedOnHost(); left != "" {
				out, errw := last.output()
				t.Errorf("the host still has %s\n%s%s", left, tail(out), errw)
			}
		})
	}
}

// ready waits until all Services but one have an endpoint that gets connections.
func (p *servicesPlace) ready() {
	p.t.Helper()
	p.service = map[string]services.Service{}
	var waits []string
	eventually(p.t, "every tier is ready", func() bool {
		out, _, _ := p.podctl("services", "-o", "json")
		var list []services.Service
		if json.Unmarshal([]byte(out), &list) != nil {
			return false
		}
		waits = nil
		for _, s := range list {
			p.service[s.Name] = s
			if s.Type != v1.ServiceTypeExternalName && !slices.ContainsFunc(s.Endpoints, func(e services.Endpoint) bool { return e.Ready }) {
				waits = append(waits, s.Name)
			}
		}
		return len(list) == len(shop)+5 && slices.Equal(waits, []string{"nothing"})
	}, func() string { return fmt.Sprint(waits) + p.does("services") + p.does("pods") })
}

// in runs a command in the pod of a tier.
func (p *servicesPlace) in(name string, command ...string) string {
	out, errw, _ := p.podctl(append([]string{"exec", "svc/" + name, "--"}, command...)...)
	return out + errw
}

// names asks from inside a pod.
func (p *servicesPlace) names(t *testing.T) {
	frontend, catalog := p.service["frontend"].Address, p.service["productcatalogservice"].Endpoints[0].Address
	for _, q := range []struct{ query, want string }{
		{"frontend.default.svc.cluster.local", frontend},
		{"catalogs.default.svc.cluster.local", catalog},
		{"alias.default.svc.cluster.local", frontend},
		{strings.ReplaceAll(catalog, ".", "-") + ".default.pod.cluster.local", catalog},
		{frontend, "frontend.default.svc.cluster.local"},
		{"none.default.svc.cluster.local", "NXDOMAIN"},
		{"-type=srv _app._tcp.redis-cart.default.svc.cluster.local", "6379 redis-cart.default.svc.cluster.local"},
	} {
		if out := p.in("loadgenerator", append([]string{"nslookup"}, strings.Fields(q.query)...)...); !strings.Contains(out, q.want) {
			t.Errorf("nslookup %s: want %s:\n%s", q.query, q.want, out)
		}
	}
	if out := p.in("loadgenerator", "env"); !strings.Contains(out, "REDIS_CART_SERVICE_HOST="+p.service["redis-cart"].Address+"\n") {
		t.Errorf("the variables lack the Service redis-cart:\n%s", out)
	}
}

// reach asks a Service by its address and by a port of the machine, from the pod behind it, and one that
// has no endpoint.
func (p *servicesPlace) reach(t *testing.T) {
	node := fmt.Sprintf("http://%s:%d", ownAddress(t), p.service["frontend-external"].Ports[0].NodePort)
	for _, c := range []struct{ from, url string }{
		{"", "http://" + p.service["frontend"].Address},
		{"", node},
		{"loadgenerator", node},
		{"loadgenerator", "http://alias"},
		{"frontend", "http://frontend"}, // hairpin
	} {
		got := ""
		eventually(t, fmt.Sprintf("%s answers %s", c.url, c.from), func() bool {
			if got = served(c.url); c.from != "" {
				got = p.in(c.from, "wget", "-qO-", c.url)
			}
			return got == "frontend\n"
		}, func() string { return got })
	}
	if out := p.in("loadgenerator", "wget", "-qO-", "http://nothing"); !strings.Contains(out, "refused") {
		t.Errorf("a Service without endpoints does not refuse: %s", out)
	}
}

// pace logs how long a Service takes to answer, beside its pod: the first of some connections, and all of them. The
// rounds of both alternate, so that what else the machine does is in both.
func (p *servicesPlace) pace(t *testing.T) {
	const rounds, connections = 100, 20
	unanswered := 0
	of := func(url string) (first, all time.Duration) {
		began := time.Now()
		for n := range connections {
			if served(url) != "frontend\n" {
				unanswered++ // a pod whose probe the machine is too busy for is not ready for a while
				eventually(t, url+" answers", func() bool { return served(url) == "frontend\n" }, func() string { return p.does("services") })
			}
			if n == 0 {
				first = time.Since(began)
			}
		}
		return first, time.Since(began)
	}
	s := p.service["frontend"]
	urls := []string{"http://" + s.Address, fmt.Sprintf("http://%s:8080", s.Endpoints[0].Address)}
	var firsts, alls, rates []float64
	for n := range rounds {
		var first, all [2]time.Duration
		for i := range 2 {
			which := (i + n) % 2
			first[which], all[which] = of(urls[which])
		}
		firsts, alls = append(firsts, first[0].Seconds()/first[1].Seconds()), append(alls, all[0].Seconds()/all[1].Seconds())
		rates = append(rates, connections/all[0].Seconds())
	}
	for _, values := range [][]float64{firsts, alls, rates} {
		slices.Sort(values)
	}
	t.Logf("the Service takes %.3f times as long as its pod to the first answer, and %.3f times for %d connections (medians of %d rounds; quarters %.3f to %.3f): %.0f connections a second; %d of all did not answer",
		firsts[rounds/2], alls[rounds/2], connections, rounds, alls[rounds/4], alls[3*rounds/4], rates[rounds/2], unanswered)
}

// served is what a server answers to a connection of its own, "" if it does not.
func served(url string) string {
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

// servedOnHost is what the host has of a podctl that serves Services.
func servedOnHost() string {
	var left []string
	if tables, _ := exec.Command("nft", "list", "tables").Output(); strings.Contains(string(tables), "podctl") {
		left = append(left, strings.TrimSpace(string(tables)))
	}
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if strings.HasPrefix(a.String(), "169.254.20.10/") {
			left = append(left, a.String())
		}
	}
	return strings.Join(left, ", ")
}
