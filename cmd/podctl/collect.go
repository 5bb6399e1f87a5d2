package main

import (
	"os"
	"runtime/debug"
)

// Garbage is collected rarely while a command begins: what is there then stays,
// and to look at it again and again takes a quarter of the time of a short
// command. One that goes on for long says settle, and is collected as ever. Who
// sets GOGC decides for both.
const patience = 200

// hurry is the beginning of every command.
func hurry() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(patience)
	}
}

// settle is for commands that stay.
func settle() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100)
	}
}
