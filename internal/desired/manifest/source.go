package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/sys/safeurl"
)

const (
	// maxSource bounds one file, body or stdin; it is the kubelet's bound of
	// a manifest (pkg/kubelet/config/common.go).
	maxSource = 10 << 20
	// urlDeadline bounds a download as a whole.
	urlDeadline = 30 * time.Second
)

// source is one readable thing and its name in messages.
type source struct {
	name string
	data []byte
}

// readSources reads what one argument names: a file, all manifests of a
// directory, standard input for "-", or a URL.
func readSources(ctx context.Context, arg string, opts LoadOptions) ([]source, []Problem) {
	switch {
	case arg == "-":
		if opts.Stdin == nil {
			return nil, unreadable("stdin", errors.New("there is no standard input"))
		}
		return readOne("stdin", func() ([]byte, error) { return readAll(ctx, opts.Stdin) })
	case strings.HasPrefix(arg, "http://"), strings.HasPrefix(arg, "https://"):
		return readOne(SourceName(arg), func() ([]byte, error) { return readURL(ctx, arg, opts.HTTP) })
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, unreadable(arg, err)
	}
	if !info.IsDir() {
		return readOne(arg, func() ([]byte, error) { return readFile(ctx, arg) })
	}
	return readDir(ctx, arg)
}

func readOne(name string, read func() ([]byte, error)) ([]source, []Problem) {
	data, err := read()
	if err != nil {
		return nil, unreadable(name, err)
	}
	return []source{{name, data}}, nil
}

// readDir reads the manifests of a directory in the order of their names, not
// those of its subdirectories. Hidden files are skipped, as by the kubelet.
func readDir(ctx context.Context, dir string) (sources []source, problems []Problem) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) {
			continue
		}
		info, err := os.Stat(name) // follows links: a mounted ConfigMap is made of them
		if err != nil {
			problems = append(problems, unreadable(name, err)...)
			continue
		}
		if info.IsDir() {
			continue
		}
		if !info.Mode().IsRegular() {
			problems = append(problems, unreadable(name, errors.New("not a regular file"))...)
			continue
		}
		s, p := readOne(name, func() ([]byte, error) { return readFile(ctx, name) })
		sources, problems = append(sources, s...), append(problems, p...)
	}
	return sources, problems
}

func readFile(ctx context.Context, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAll(ctx, f)
}

// readAll reads up to the bound. It returns when the context ends; the read of a pipe
// or terminal then continues in the background and its bytes are lost.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, maxSource+1))
		done <- result{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case got := <-done:
		if got.err == nil && len(got.data) > maxSource {
			got.err = fmt.Errorf("larger than %d MiB", maxSource>>20)
		}
		return got.data, got.err
	}
}

func readURL(ctx context.Context, address string, client *http.Client) ([]byte, error) {
	if client == nil {
		client = http.DefaultClient
	}
	ctx, cancel := context.WithTimeout(ctx, urlDeadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", resp.Status)
	}
	return readAll(ctx, resp.Body)
}

// SourceName returns the name of a source as it may be printed: a URL without
// user, password and query.
func SourceName(source string) string {
	if !strings.Contains(source, "://") {
		return source
	}
	return safeurl.Text(source)
}

// unreadable returns the problem of a source that cannot be read. The errors of
// os and http repeat the name, which the problem has already.
func unreadable(name string, err error) []Problem {
	cause := safeurl.Cause(err)
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		cause = pathErr.Err
	}
	return []Problem{{File: name, Message: "read: " + cause.Error(), err: err}}
}
