// Package testutil holds what the tests of several packages share: golden files
// and transcripts, and polling for a condition of the real world, which is the
// only wait outside a testing/synctest bubble. The program does not import it.
package testutil
