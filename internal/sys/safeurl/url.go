package safeurl

import (
	"errors"
	"net/url"
)

// Text returns the scheme, host and path of a URL; "url" if it has no host or
// cannot be parsed.
func Text(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "url"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// errInvalid stands for the errors of url.Parse, which repeat parts of the URL.
var errInvalid = errors.New("the URL is invalid")

// Cause returns the cause of an error of package url or net/http, which name the URL;
// any other error as it is.
func Cause(err error) error {
	u, ok := errors.AsType[*url.Error](err)
	switch {
	case !ok:
		return err
	case u.Op == "parse":
		return errInvalid
	default:
		return u.Err
	}
}
