// Package safeurl prints URLs without what may be secret in them.
//
//	URL ─► Text: scheme, host and path
//	error of a URL ─► Cause: what is wrong, without the URL
//
// A user's name, a password and the values of a query may be tokens. Of a URL that
// cannot be parsed nothing is printed: where its password ends is not known.
//
// It owns nothing and does not block.
package safeurl
