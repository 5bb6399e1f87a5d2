package source

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/sys/safeurl"
)

// deadline bounds a download as a whole.
const deadline = 30 * time.Second

// page is a URL that is polled.
type page struct {
	address string
	client  *http.Client
	// etag and modified are the validators of the last good answer, "" if it
	// had none.
	etag, modified string
}

// shown returns the URL as it may be printed.
func (p *page) shown() string { return manifest.SourceName(p.address) }

// read asks for the page, unless it is still the one that was had.
func (p *page) read(ctx context.Context) (Read, bool) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	data, changed, err := p.get(ctx)
	if err != nil {
		p.etag, p.modified = "", "" // the next answer shows that it is back
		return Read{Err: safeurl.Cause(err)}, true
	}
	return Read{Files: []File{{Name: p.shown(), Data: data}}}, changed
}

func (p *page) get(ctx context.Context) (data []byte, changed bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.address, nil)
	if err != nil {
		return nil, false, err
	}
	if p.etag != "" {
		req.Header.Set("If-None-Match", p.etag)
	}
	if p.modified != "" {
		req.Header.Set("If-Modified-Since", p.modified)
	}
	client := p.client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusNotModified:
		return nil, false, nil
	case http.StatusOK:
	default:
		return nil, false, fmt.Errorf("the server answered %s", resp.Status)
	}
	if data, err = readAll(resp.Body); err != nil {
		return nil, false, err
	}
	p.etag, p.modified = resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	return data, true, nil
}
