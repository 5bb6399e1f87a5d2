// Package jobs decides which pods the Jobs and CronJobs of the manifests have: a pure core and the file
// that outlives the process.
//
//	manifest.Job ──┐                ┌─► Record: its Jobs, their pods and counts
//	Seen, by UID ──┼─► Step (pure) ─┼─► events, with the controllers' reasons
//	now ───────────┘                └─► when to look again
//
// A Record is all that is known of one Job or CronJob. Its pods exist because it names them: they are
// desired from when the Record is written until it drops them, so that a process that is killed neither
// runs a pod twice nor forgets a failure. A pod is counted once, when its phase is final and nothing of it
// runs.
//
// Step blocks on nothing and reads no clock; Store reads and writes files, and holds the lock of each
// Record that it has opened.
//
// Answers to pkg/controller/job, pkg/controller/cronjob and pkg/controller/ttlafterfinished. Differs from
// them in: a Job whose spec may not change is replaced when it does; names of pods are computed; of the
// pods that have ended the last 100 stay, and the last failed one of each index that has a limit of its own and
// runs again; at most 500 pods of a Job run at a time, and at most 100 jobs of a CronJob.
package jobs
