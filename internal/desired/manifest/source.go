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
// directory, standard input for "-", or a URL. passed names the files of a directory that
// are no manifests.
func readSources(ctx context.Context, arg string, opts LoadOptions) (sources []source, problems, passed []Problem) {
	switch {
	case arg == "-" && opts.Stdin == nil:
		problems = unreadable("stdin", errors.New("there is no standard input"))
	case arg == "-":
		sources, problems = readOne("stdin", func() ([]byte, error) { return readAll(ctx, opts.Stdin) })
	case strings.HasPrefix(arg, "http://"), strings.HasPrefix(arg, "https://"):
		sources, problems = readOne(SourceName(arg), func() ([]byte, error) { return readURL(ctx, arg, opts.HTTP) })
	default:
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			problems = unreadable(arg, err)
		case info.IsDir():
			return readDir(ctx, arg, opts.AllFiles)
		default:
			sources, problems = readOne(arg, func() ([]byte, error) { return readFile(ctx, arg) })
		}
	}
	return sources, problems, nil
}

// IsManifest reports by its name whether a file of a directory is read; with all, any that does not
// begin with a dot (pkg/kubelet/config/file.go).
func IsManifest(name string, all bool) bool {
	return !strings.HasPrefix(name, ".") && (all || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)))
}

// IsSkipped reports by its name whether a file of a directory is neither read nor hidden, and worth a
// warning: *.md is not.
func IsSkipped(name string, all bool) bool {
	return !IsManifest(name, all) && !strings.HasPrefix(name, ".") && filepath.Ext(name) != ".md"
}

// maxSkippedNamed bounds the skipped files that a warning names.
const maxSkippedNamed = 5

// SkippedWarning returns one warning about the skipped files of a directory, none without names.
func SkippedWarning(dir string, names []string) []Problem {
	if len(names) == 0 {
		return nil
	}
	text := strings.Join(names[:min(len(names), maxSkippedNamed)], ", ")
	if more := len(names) - maxSkippedNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return []Problem{{
		File: dir, Message: "passed over, as their names do not end in .yaml, .yml or .json: " + text,
		Hint: "--all-files reads each file that does not begin with a dot, as the kubelet does",
	}}
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
func readDir(ctx context.Context, dir string, all bool) (sources []source, problems, passed []Problem) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unreadable(dir, err), nil
	}
	if i := slices.IndexFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() && IsKustomization(e.Name()) }); i >= 0 {
		entries = entries[i : i+1] // the others are what it changes
	}
	var others []string
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if !IsManifest(e.Name(), all || IsKustomization(e.Name())) {
			if !e.IsDir() && IsSkipped(e.Name(), all) {
				others = append(others, e.Name())
			}
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
	return sources, problems, SkippedWarning(dir, others)
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
