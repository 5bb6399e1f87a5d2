package event

// The kubelet's reasons (pkg/kubelet/events/event.go and, for those of the
// status, pkg/kubelet).
const (
	Pulling                         = "Pulling"
	Pulled                          = "Pulled"
	Created                         = "Created"
	Started                         = "Started"
	Killing                         = "Killing"
	BackOff                         = "BackOff"
	Failed                          = "Failed"
	InspectFailed                   = "InspectFailed"
	FailedToRetrieveImagePullSecret = "FailedToRetrieveImagePullSecret"
	ErrImageNeverPull               = "ErrImageNeverPull"
	FailedKillPod                   = "FailedKillPod"
	FailedMount                     = "FailedMount"
	FailedCreatePodContainer        = "FailedCreatePodContainer"
	SandboxChanged                  = "SandboxChanged"
	FailedCreatePodSandBox          = "FailedCreatePodSandBox"
	DNSConfigForming                = "DNSConfigForming"
	FailedPodSandBoxStatus          = "FailedPodSandBoxStatus"
	NetworkNotReady                 = "NetworkNotReady"
	FailedPostStartHook             = "FailedPostStartHook"
	FailedPreStopHook               = "FailedPreStopHook"
	LifecycleHTTPFallback           = "LifecycleHTTPFallback"
	DeadlineExceeded                = "DeadlineExceeded"
	Unhealthy                       = "Unhealthy"
	ResizeStarted                   = "ResizeStarted"
	ResizeDeferred                  = "ResizeDeferred"
	ResizeCompleted                 = "ResizeCompleted"
	ResizeError                     = "ResizeError"
	ProbeWarning                    = "ProbeWarning"
	// FailedSync: the pod's status in the runtime cannot be read.
	FailedSync = "FailedSync"
	// Preempting: the pod waits for its victims to make room; of a victim, that
	// it gives way.
	Preempting = "Preempting"
	// Evicted: the pod was terminated for good because the node lacks a resource.
	Evicted = "Evicted"
	// ExceededGracePeriod: an evicted pod still runs after the time that its
	// termination may take.
	ExceededGracePeriod = "ExceededGracePeriod"
	// NodePorts: the pod was rejected, because another one has a host port of it.
	NodePorts = "NodePorts"
)

// The reasons of the controllers of Jobs and CronJobs (pkg/controller/job, pkg/controller/cronjob); a Job that
// fails has that of its condition: BackoffLimitExceeded, DeadlineExceeded, PodFailurePolicy …
const (
	SuccessfulCreate    = "SuccessfulCreate"
	SuccessfulDelete    = "SuccessfulDelete"
	Completed           = "Completed"
	Suspended           = "Suspended"
	Resumed             = "Resumed"
	SawCompletedJob     = "SawCompletedJob"
	JobAlreadyActive    = "JobAlreadyActive"
	MissSchedule        = "MissSchedule"
	TooManyMissedTimes  = "TooManyMissedTimes"
	UnparseableSchedule = "UnparseableSchedule"
	InvalidSchedule     = "InvalidSchedule"
	// FailedJob is podctl's own: the Job does not run for as long as Message is true; it is retried.
	FailedJob = "FailedJob"
)

// Podctl's own reasons: what the kubelet shows in the status only.
const (
	// SandboxReady: the pod's sandbox runs.
	SandboxReady = "SandboxReady"
	// HostPortShared: a process of the host listens on a host port that leads to the pod.
	HostPortShared = "HostPortShared"
	// FailedUnmount: a volume cannot be unmounted.
	FailedUnmount = "FailedUnmount"
	// Starting: the pod was admitted.
	Starting = "Starting"
	// Adopted: the runtime already held the pod.
	Adopted = "Adopted"
	// Running: the container's process runs.
	Running = "Running"
	// Exited: the container's process has ended.
	Exited = "Exited"
	// RestartingAllContainers: all containers are removed and started again, as a restart
	// rule of one of them asks for.
	RestartingAllContainers = "RestartingAllContainers"
	// Ready: all containers are ready.
	Ready = "Ready"
	// NotReady: a container is no longer ready, by its probe.
	NotReady = "NotReady"
	// Ended: the pod's phase is final.
	Ended = "Ended"
	// Waiting: the pod cannot start for as long as Message is true; it is retried.
	Waiting = "Waiting"
	// Terminating: the pod was asked to stop.
	Terminating = "Terminating"
	// Stopped: nothing of the pod runs any more.
	Stopped = "Stopped"
	// Removed: nothing of the pod remains.
	Removed = "Removed"
	// RuntimeDown and RuntimeUp: the runtime stopped answering, and answers again.
	RuntimeDown = "RuntimeDown"
	RuntimeUp   = "RuntimeUp"
	// LogDirectoryFull: the file system of the log directory is full, so that what
	// containers write is lost.
	LogDirectoryFull = "LogDirectoryFull"
	// FailedLogRotation: the container's log cannot be rotated or reopened.
	FailedLogRotation = "FailedLogRotation"
	// RunDirectoryLost and RunDirectoryRestored: the locks in the run directory were deleted and
	// could not be taken again, and were taken again.
	RunDirectoryLost     = "RunDirectoryLost"
	RunDirectoryRestored = "RunDirectoryRestored"
	// EventsDropped: events could not be recorded in the journal.
	EventsDropped = "EventsDropped"
)

// The reasons of what an observing agent sees of pods that others manage: the names
// of the PLEG's events.
const (
	// ContainerStarted, ContainerDied and ContainerRemoved are about a sandbox if no
	// container is named.
	ContainerStarted = "ContainerStarted"
	ContainerDied    = "ContainerDied"
	ContainerRemoved = "ContainerRemoved"
)
