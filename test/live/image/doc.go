// Package image makes the two container images that the live tests need from
// what the host has, because test hosts reach no registry.
//
//	Debian's busybox-static ──► Busybox   the test image: a shell, every applet
//	hack/pause (go build)   ──► Pause     what a sandbox runs
//
//	Save ──► docker-archive tarballs      imported by hack/runtime
//	live.Registry serves the same images  where pulling is what is tested
//
// The same inputs give the same digests: every time stamp is zero and every
// entry is sorted, so an image id may be compared across hosts with the same
// busybox.
package image
