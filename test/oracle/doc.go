// Package oracle replays the kubelet's recorded behaviour against podctl.
//
//	testdata/SUBJECT/…  ──►  the package under test  ──►  compared with the recording
//	(or $PODCTL_ORACLE/SUBJECT/…)
//
// The recordings were made with the kubelet v1.36.3 and are data: they are
// never edited. Setting PODCTL_ORACLE to another directory with the same
// subdirectories (pods, worker, pleg, preempt) tries other recordings. A
// directory that is missing fails the test; it does not skip it.
//
//	go test ./test/oracle/... -run Worker
package oracle
