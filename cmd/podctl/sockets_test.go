package main

import (
	"net"
	"net/http"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"
)

// notCRI are servers that podctl must not take for a runtime.
var notCRI = map[string]func(net.Listener) error{
	"http":    func(l net.Listener) error { return http.Serve(l, http.NotFoundHandler()) },
	"grpc":    func(l net.Listener) error { return grpc.NewServer().Serve(l) },
	"silent":  func(l net.Listener) error { return accept(l, func(net.Conn) {}) },
	"closing": func(l net.Listener) error { return accept(l, func(c net.Conn) { c.Close() }) },
}

// accept hands each connection to a function; those that it leaves open are
// closed at the end.
func accept(l net.Listener, each func(net.Conn)) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		defer c.Close()
		each(c)
	}
}

func listenCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || notCRI[args[0]] == nil {
		ts.Fatalf("usage: listen http|grpc|silent|closing SOCKET")
	}
	l, err := net.Listen("unix", ts.MkAbs(args[1]))
	ts.Check(err)
	ended := make(chan error, 1)
	go func() { ended <- notCRI[args[0]](l) }()
	ts.Defer(func() { l.Close(); <-ended })
}

// serveAt serves a socket until the test ends.
func serveAt(t *testing.T, socket string, serve func(net.Listener) error) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(l) }()
	t.Cleanup(func() { l.Close(); <-ended })
}
