// Package podlogs reads the logs of the containers that a user names: of pods of every owner, by the paths that the
// runtime reports.
//
//	query ─► containers ─► paths ─► logs.Group ─► lines, merged by time
//	            ▲                                      │ Follow
//	            └── relist every second: restarts, new pods of the name or labels
//
// It differs from kubectl logs in that it reads the files itself, rotated ones included, and follows a container's
// restarts and the successors of its pod.
package podlogs
