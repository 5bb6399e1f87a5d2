// Package atomicfile replaces files so that a reader sees the old content or
// the new content, never a part of one, also after a crash:
//
//	CreateTemp ─► write ─► chmod ─► fsync (Write) ─► rename ─► SyncDir, where needed
//
// It owns nothing and may block on the disk.
package atomicfile
