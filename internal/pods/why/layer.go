package why

// Layer is what a pod waits for that is starting or terminating.
type Layer string

// The layers.
const (
	LayerNone    Layer = "-" // nothing is stuck, or it is not known what is
	LayerWorker  Layer = "worker"
	LayerRuntime Layer = "runtime"
	LayerShim    Layer = "shim"
	LayerHook    Layer = "hook"
	LayerCgroup  Layer = "cgroup"
	LayerProcess Layer = "process"
	LayerVolume  Layer = "volume"
	LayerNetwork Layer = "network"
	LayerLock    Layer = "lock"
	LayerKernel  Layer = "kernel" // the kernel kills or refuses the process
)

// The layers that only a starting pod waits for.
const (
	LayerAdmission   Layer = "admission"   // the node does not take the pod: its name, a port, resources
	LayerConfig      Layer = "config"      // what the manifest refers to or asks for
	LayerDevice      Layer = "device"      // a device of the host
	LayerDisk        Layer = "disk"        // a file system is full, read-only or broken
	LayerImage       Layer = "image"       // the image: it does not exist, or not for this machine
	LayerRegistry    Layer = "registry"    // the registry of the image, and the way to it
	LayerProbe       Layer = "probe"       // a probe does not succeed
	LayerApplication Layer = "application" // the program of the container
)

// Confidence is how sure an answer is.
type Confidence string

// The confidences.
const (
	Observed Confidence = "observed" // the cause itself was observed
	Likely   Confidence = "likely"   // inferred from what was observed
	Unknown  Confidence = "unknown"  // the facts do not suffice
)

// Step is how far a pod is on its way to be ready, or to its end.
type Step string

// The steps, in their order.
const (
	StepAdmission    Step = "admission"     // whether the node takes the pod
	StepHostPort     Step = "host-port"     // a port of the host that another pod has
	StepDevice       Step = "device"        // a device of the host
	StepQueue        Step = "queue"         // its turn among the pods that start
	StepObject       Step = "object"        // a Secret or ConfigMap, or a key of it
	StepVolume       Step = "volume"        // its volumes are mounted
	StepSandbox      Step = "sandbox"       // the runtime makes its sandbox
	StepNetwork      Step = "network"       // CNI plugins make its network, which is a part of that
	StepPull         Step = "pull"          // an image is pulled
	StepCreate       Step = "create"        // the runtime creates a container
	StepStart        Step = "start"         // the runtime starts it
	StepHook         Step = "hook"          // its postStart hook runs
	StepInit         Step = "init"          // an init container runs
	StepStartupProbe Step = "startup-probe" // it runs, and its startup probe has not succeeded
	StepReadiness    Step = "readiness"     // it runs, and is not ready
	StepRestart      Step = "restart"       // it has exited, and is started again after a back-off
	StepStop         Step = "stop"          // it is terminated
)

// Steps returns all steps in their order.
func Steps() []Step {
	return []Step{
		StepAdmission, StepHostPort, StepDevice, StepQueue, StepObject, StepVolume, StepSandbox, StepNetwork, StepPull, StepCreate, StepStart,
		StepHook, StepInit, StepStartupProbe, StepReadiness, StepRestart, StepStop,
	}
}
