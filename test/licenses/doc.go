// Package licenses checks that every module that podctl is built of may be
// distributed with it: its licence is one of a few permissive ones, or covers no
// more than its own files. Its test reads the licence files in the module cache and
// needs no network.
package licenses
