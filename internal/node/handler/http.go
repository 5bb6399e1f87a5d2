package handler

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// The user agents, with the kubelet's version: servers know them by these names.
const (
	probeAgent = "kube-probe/1.37"
	hookAgent  = "kube-lifecycle/1.37"
)

// insecureTLSConfig: who asks a pod by its address cannot know its certificate.
func insecureTLSConfig() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

// probeTransport has no connections that stay, and no proxy.
var probeTransport = &http.Transport{
	TLSClientConfig:        insecureTLSConfig(),
	TLSHandshakeTimeout:    10 * time.Second,
	DisableKeepAlives:      true,
	DisableCompression:     true,
	ForceAttemptHTTP2:      true,
	MaxResponseHeaderBytes: maxHeader,
	DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dialer().DialContext(ctx, network, addr)
	},
}

// httpProbe gets a page; a status from 200 to 399 is a success. Redirects are
// followed on the same host; one to another host is a success with a warning.
// A failure's message does not hold the body (pkg/probe/http/http.go).
func httpProbe(ctx context.Context, t Target, get *v1.HTTPGetAction, timeout time.Duration) (Result, string, error) {
	req, err := request(ctx, t, get, probeAgent)
	if err != nil {
		return Unknown, "", err
	}
	client := &http.Client{Timeout: timeout, Transport: probeTransport, CheckRedirect: refuseOtherHosts}
	resp, err := client.Do(req)
	if err != nil {
		return Failure, err.Error(), nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput))
	switch {
	case err != nil:
		return Failure, "", err
	case resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusBadRequest:
		return Failure, fmt.Sprintf("HTTP probe failed with statuscode: %d", resp.StatusCode), nil
	case resp.StatusCode >= http.StatusMultipleChoices:
		return Warning, fmt.Sprintf("Probe terminated redirects, Response body: %s", body), nil
	}
	return Success, string(body), nil
}

// httpHook gets a page; whatever the answer is, it is a success. fallback is
// the address of a server that answers HTTPS in HTTP, and was asked again in
// HTTP, then without its Authorization.
func httpHook(ctx context.Context, t Target, get *v1.HTTPGetAction) (fallback string, err error) {
	if get.Host == "" && t.PodIP == "" {
		return "", errors.New("failed to find networking container: the pod has no address")
	}
	req, err := request(ctx, t, get, hookAgent)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{TLSClientConfig: insecureTLSConfig(), MaxResponseHeaderBytes: maxHeader}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: refuseOtherHosts}
	err = drainBody(client.Do(req))
	if !isHTTPOnHTTPSError(err) {
		return "", err
	}
	again := req.Clone(ctx)
	again.URL.Scheme = "http"
	again.Header.Del("Authorization")
	if drainBody(client.Do(again)) != nil {
		return "", err
	}
	return again.URL.Host, nil
}

// isHTTPOnHTTPSError reports whether a server that was to speak HTTPS answered with HTTP. net/http has no type
// for this error.
func isHTTPOnHTTPSError(err error) bool {
	return err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

func drainBody(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxOutput)) // the answer does not matter
	return resp.Body.Close()
}

// refuseOtherHosts follows up to ten redirects as long as they stay on one host.
func refuseOtherHosts(req *http.Request, via []*http.Request) error {
	if req.URL.Hostname() != via[0].URL.Hostname() {
		return http.ErrUseLastResponse
	}
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

// request returns the GET that the action describes. An Accept or User-Agent of its
// own replaces the usual one, an empty Accept leaves it out, and Host is the
// request's host (pkg/probe/http/request.go).
func request(ctx context.Context, t Target, get *v1.HTTPGetAction, agent string) (*http.Request, error) {
	number, err := port(get.Port, t.Container)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(get.Path)
	if err != nil {
		u = &url.URL{Path: get.Path} // as it is written
	}
	u.Scheme = "http"
	if get.Scheme != "" {
		u.Scheme = strings.ToLower(string(get.Scheme))
	}
	u.Host = address(requestHost(get.Host, t), number)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	for _, h := range get.HTTPHeaders {
		req.Header.Add(h.Name, h.Value)
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header.Set("User-Agent", agent)
	}
	if _, ok := req.Header["Accept"]; !ok {
		req.Header.Set("Accept", "*/*")
	} else if req.Header.Get("Accept") == "" {
		req.Header.Del("Accept")
	}
	req.Host = req.Header.Get("Host")
	return req, nil
}

// requestHost returns the one given, or the pod.
func requestHost(given string, t Target) string {
	if given != "" {
		return given
	}
	return t.PodIP
}
