module github.com/podctl/podctl/hack/picture

go 1.26.0

require (
	github.com/creack/pty v1.1.24
	github.com/hinshun/vt10x v0.0.0-20220301184237-5011da428d02
)
