package trace

import (
	"fmt"
	"strconv"

	"google.golang.org/grpc/codes"
)

// OTLP returns spans as the body of a request of OTLP/HTTP in JSON.
func OTLP(spans []Span, runtime string) any {
	return otlpExport{[]otlpResource{{
		Resource: otlpAttributes{[]otlpAttribute{textAttribute("service.name", "podctl trace"), textAttribute("server.address", runtime)}},
		Scopes:   []otlpScope{{Scope: otlpName{"podctl"}, Spans: spans}},
	}}}
}

// The parts of opentelemetry/proto/collector/trace/v1 that are sent.
type (
	otlpExport struct {
		Resources []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource otlpAttributes `json:"resource"`
		Scopes   []otlpScope    `json:"scopeSpans"`
	}
	otlpAttributes struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScope struct {
		Scope otlpName `json:"scope"`
		Spans []Span   `json:"spans"`
	}
	otlpName struct {
		Name string `json:"name"`
	}
	// Span is a call as a span. It does not hold the messages of the call.
	Span struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes"`
		Status     otlpStatus      `json:"status"`
	}
	otlpAttribute struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
	otlpStatus struct {
		Code    int    `json:"code"` // 0 unset, 2 error
		Message string `json:"message,omitempty"`
	}
)

// spanKindClient is SPAN_KIND_CLIENT, statusError STATUS_CODE_ERROR.
const (
	spanKindClient = 3
	statusError    = 2
)

// Span returns the call as a span, by OpenTelemetry's conventions for RPC. session makes the
// ids of several runs differ.
func (e *Entry) Span(session uint64) Span {
	s := Span{
		TraceID: fmt.Sprintf("%016x%016x", session, e.ID), SpanID: fmt.Sprintf("%016x", e.ID), Name: e.Service + "/" + e.Method, Kind: spanKindClient,
		Start: strconv.FormatInt(e.Start.UnixNano(), 10), End: strconv.FormatInt(e.Start.Add(e.Took).UnixNano(), 10),
		Attributes: []otlpAttribute{
			textAttribute("rpc.system", "grpc"), textAttribute("rpc.service", e.Service), textAttribute("rpc.method", e.Method),
			numberAttribute("rpc.grpc.status_code", int(e.Code)),
			numberAttribute("process.pid", e.Caller.PID), textAttribute("process.executable.name", e.Caller.Comm),
		},
	}
	for _, a := range []struct{ key, value string }{
		{"k8s.namespace.name", e.Target.Namespace}, {"k8s.pod.name", e.Target.Pod}, {"k8s.container.name", e.Target.Container},
		{"container.id", e.Target.ContainerID}, {"container.image.name", e.Target.Image}, {"cri.detail", e.Detail},
	} {
		if a.value != "" {
			s.Attributes = append(s.Attributes, textAttribute(a.key, a.value))
		}
	}
	if e.Code != codes.OK {
		s.Status = otlpStatus{statusError, e.Status}
	}
	return s
}

func textAttribute(key, value string) otlpAttribute {
	return otlpAttribute{key, map[string]any{"stringValue": value}}
}

func numberAttribute(key string, n int) otlpAttribute {
	return otlpAttribute{key, map[string]any{"intValue": strconv.Itoa(n)}}
}
