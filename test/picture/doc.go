// Command picture runs a command in a pseudo-terminal and writes the screen as
// an SVG image: the pictures of the README.
//
//	command ─► pty ─► terminal emulator ─► cells ─► SVG
//
// The screen is taken when the command exits, or after -snap, when the command
// is then interrupted:
//
//	picture -o docs/img/run.svg -rows 20 -snap 20s -- podctl run web.yaml
package main
