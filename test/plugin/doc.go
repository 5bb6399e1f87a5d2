// Package plugin tests kubectl podctl on a terminal, on a simulated cluster whose nodes run
// a shell of this machine in place of podctl. It starts no runtime.
package plugin
