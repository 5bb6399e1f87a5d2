// Package suggest suggests the known word that a mistyped one stands for.
//
//	"descrbie", [describe, delete, …] ─► Word ─► "describe"
//	"web", [web-7d4b9-x2x, …]         ─► Names ─► those that begin with it
//
// Everything is pure.
package suggest
