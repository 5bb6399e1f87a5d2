// Package simulate is the command that serves the simulated runtime to other
// processes: an aid for development, and for trying podctl without a runtime.
//
//	podctl sim --listen SOCKET ──► sim.Runtime ◄── podctl -r SOCKET, crictl, a test
package simulate
