// Package fleet tests examples/fleet: what kustomize makes of it, and what it is
// allowed to do.
package fleet
