package manifest

import (
	"slices"
	"strings"
)

const (
	claimIsDirectory = "a claim is a directory on this machine"
	neverRemoved     = "podctl never removes what a volume holds"
	unread           = "nothing reads it here"
)

// namedMeta are the metadata of everything but pods, without labels and annotations.
var namedMeta = concat(
	honoured(`apiVersion kind metadata.name metadata.namespace`),
	ignored("metadata.name is set, and names the object", `metadata.generateName`),
	ignored("only pods have UIDs here", `metadata.uid`),
	ignored(byServer, `metadata.selfLink metadata.resourceVersion metadata.generation metadata.creationTimestamp
		metadata.deletionTimestamp metadata.deletionGracePeriodSeconds metadata.managedFields`),
	ignored("there are no controllers and no garbage collector", `metadata.ownerReferences metadata.finalizers`),
)

// objectMeta are the metadata of everything but pods and volumes.
var objectMeta = concat(namedMeta, ignoredReportedAtPods(unread, `metadata.labels metadata.annotations`))

var configMapFields = concat(objectMeta,
	honoured(`data binaryData immutable`),
)

var secretFields = concat(objectMeta,
	honoured(`data stringData type immutable`),
)

// volumeSelectionFields are the fields of a claim by which a volume is chosen.
const volumeSelectionFields = `selector storageClassName volumeName volumeAttributesClassName`

// A claim is bound to one of the declared volumes, or else a directory of its name; what
// chooses has no effect then, which is said where it is known (objects.go).
var claimFields = concat(objectMeta, below("spec", claimSpecFields),
	below("spec", honoured(`accessModes`)),
	// Every claim must have it, so a warning would say nothing.
	below("spec", rows(`resources`, Field{Support: Honoured, Reason: "it chooses among declared volumes; else " + claimIsDirectory + ", and has what room the disk has"})),
	below("spec", rows(volumeSelectionFields, Field{Support: Honoured, Reason: "it chooses among the PersistentVolumes that are declared beside it; without one, " + claimIsDirectory})),
	ignored(byServer, `status`),
	ignored("podman reads it, Kubernetes does not", `metadata.annotations[volume.podman.io/*]`),
)

var claimSpecFields = concat(
	rows("volumeMode", Field{Support: Honoured, Values: []string{"Filesystem"}, Reason: claimIsDirectory}),
	instead(claimIsDirectory+", and begins empty", "fill it in an init container", `dataSource dataSourceRef`),
)

// volumeObjectFields are those of a PersistentVolume.
var volumeObjectFields = concat(namedMeta,
	ignoredReportedAtPods(unread, `metadata.annotations`),
	honoured(`metadata.labels spec.capacity spec.accessModes spec.claimRef spec.storageClassName spec.volumeAttributesClassName spec.volumeMode
		spec.hostPath spec.local`),
	rows(`spec.nodeAffinity`, Field{Support: Honoured, Reason: "as far as it is about kubernetes.io/hostname, os and arch"}),
	ignoredReportedAtPods(neverRemoved, `spec.persistentVolumeReclaimPolicy`),
	ignored("nothing is mounted: a volume is a directory of this machine", `spec.mountOptions`),
	ignoredReportedAtPods("podctl does not mount it: a pod with a claim that is bound to it is refused", `spec.nfs spec.csi spec.iscsi spec.fc spec.cinder spec.cephfs
		spec.rbd spec.glusterfs spec.flocker spec.azureFile spec.azureDisk spec.vsphereVolume spec.quobyte spec.photonPersistentDisk spec.portworxVolume
		spec.scaleIO spec.storageos spec.gcePersistentDisk spec.awsElasticBlockStore spec.flexVolume`),
	ignored(byServer, `status`),
)

var storageClassFields = concat(objectMeta,
	rows(`provisioner`, Field{Support: Honoured, Reason: "podctl stands in for it with directories, but not for kubernetes.io/no-provisioner"}),
	honoured(`metadata.annotations[storageclass.kubernetes.io/is-default-class] metadata.annotations[storageclass.beta.kubernetes.io/is-default-class]`),
	ignoredReportedAtPods(neverRemoved, `reclaimPolicy`),
	ignoredReportedAtPods(claimIsDirectory, `volumeBindingMode allowVolumeExpansion parameters mountOptions allowedTopologies`),
)

var priorityClassFields = concat(objectMeta,
	honoured(`value globalDefault`),
	ignoredReportedAtPods(unread, `description`),
	rows(`preemptionPolicy`, Field{Support: Honoured, Reason: "the pod has it; a kubelet preempts by priority alone"}),
)

var runtimeClassFields = concat(objectMeta,
	rows(`handler`, Field{Support: Honoured, Reason: "--runtime-class maps the class to another one"}),
	honoured(`overhead`),
	ignoredReportedAtPods(noScheduler, `scheduling`),
)

var serviceAccountFields = concat(objectMeta,
	honoured(`imagePullSecrets`),
	rows(`automountServiceAccountToken`, Field{Support: Honoured, Reason: "with false the pods are not missing a token"}),
	ignoredReportedAtPods(noTokenIssuer, `secrets`),
)

const (
	oneFamily   = "Services have IPv4 addresses here"
	oneMachine  = "all endpoints are on this machine"
	noBalancer  = "there is no load balancer on this machine"
	notFiltered = "podctl does not filter by it"
)

var serviceFields = concat(namedMeta,
	ignoredReportedAtPods(unread, `metadata.labels metadata.annotations`),
	honoured(`spec.selector spec.clusterIP spec.externalName spec.sessionAffinity spec.sessionAffinityConfig
		spec.publishNotReadyAddresses spec.internalTrafficPolicy
		spec.ports[].name spec.ports[].port spec.ports[].targetPort spec.ports[].nodePort`),
	rows(`spec.type`, Field{Support: Honoured, Reason: "a LoadBalancer is served as a NodePort"}),
	rows("spec.ports[].protocol", Field{Support: Honoured, Values: []string{"TCP", "UDP"}, Reason: "podctl serves TCP and UDP"}),
	rows("spec.ipFamilies[]", Field{Support: Honoured, Values: []string{"IPv4"}, Reason: oneFamily}),
	rows("spec.ipFamilyPolicy", Field{Support: Honoured, Values: []string{"SingleStack", "PreferDualStack"}, Reason: oneFamily}),
	ignoredReportedAtPods("it only describes the port", `spec.ports[].appProtocol`),
	ignoredReportedAtPods(oneMachine, `spec.trafficDistribution`),
	ignoredReportedAtPods("spec.clusterIP counts", `spec.clusterIPs`),
	ignored("connections at node ports come from the machine's own address", `spec.externalTrafficPolicy`),
	ignored(noBalancer, `spec.allocateLoadBalancerNodePorts spec.loadBalancerClass spec.loadBalancerIP spec.healthCheckNodePort`),
	refused(notFiltered, `spec.loadBalancerSourceRanges`),
	refused("podctl takes no addresses that are not the machine's", `spec.externalIPs`),
	ignored(byServer, `status`),
)

var endpointSliceFields = concat(namedMeta,
	ignoredReportedAtPods(unread, `metadata.annotations`),
	rows(`metadata.labels`, Field{Support: Honoured, Reason: "kubernetes.io/service-name names the Service"}),
	rows("addressType", Field{Support: Honoured, Values: []string{"IPv4"}, Reason: oneFamily}),
	honoured(`ports endpoints[].addresses endpoints[].conditions endpoints[].hostname endpoints[].nodeName`),
	ignoredReportedAtPods(oneMachine, `endpoints[].hints endpoints[].zone endpoints[].deprecatedTopology`),
	ignoredReportedAtPods("it only names what the endpoint is", `endpoints[].targetRef`),
)

var limitRangeFields = concat(objectMeta,
	ignored("podctl applies no LimitRange: containers have the requests and limits that are written", `spec.limits`),
)

var resourceQuotaFields = concat(objectMeta,
	ignored("podctl enforces no quota: the pods of the namespace run, however many they are", `spec`),
	ignored(byServer, `status`),
)

// templateFields are a pod's fields as a workload's template has them.
var templateFields = concat(
	honoured(`metadata.labels metadata.annotations`),
	ignored("the pods are named after the workload", `metadata.name metadata.generateName metadata.namespace metadata.uid`),
	ignored(byServer, `metadata.selfLink metadata.resourceVersion metadata.generation metadata.creationTimestamp
		metadata.deletionTimestamp metadata.deletionGracePeriodSeconds metadata.managedFields`),
	ignored("there are no controllers and no garbage collector", `metadata.ownerReferences metadata.finalizers`),
	startingWith("metadata.annotations[", table), startingWith("spec.", table),
)

func startingWith(prefix string, rows fieldRows) fieldRows {
	return func() []Field {
		return slices.DeleteFunc(rows(), func(row Field) bool { return !strings.HasPrefix(row.Path, prefix) })
	}
}

// workloadFields are those of every workload; selectors have to match the
// template, and select nothing.
var workloadFields = concat(objectMeta,
	honoured(`spec.template spec.selector`),
	ignored(byServer, `status`),
)

var deploymentFields = concat(workloadFields,
	honoured(`spec.replicas`),
	ignored(noControllers, `spec.strategy spec.minReadySeconds spec.revisionHistoryLimit spec.paused spec.progressDeadlineSeconds`),
)

var replicaSetFields = concat(workloadFields,
	honoured(`spec.replicas`),
	ignored(noControllers, `spec.minReadySeconds`),
)

var replicationControllerFields = replicaSetFields

var daemonSetFields = concat(workloadFields,
	ignored(noControllers, `spec.updateStrategy spec.minReadySeconds spec.revisionHistoryLimit`),
)

var statefulSetFields = concat(workloadFields,
	honoured(`spec.replicas spec.serviceName spec.ordinals`),
	below("spec.volumeClaimTemplates[]", claimFields),
	ignored(noControllers, `spec.podManagementPolicy spec.updateStrategy spec.minReadySeconds spec.revisionHistoryLimit
		spec.persistentVolumeClaimRetentionPolicy`),
)

// jobSpecFields are those of a Job's spec, but for its template.
var jobSpecFields = concat(
	honoured(`suspend manualSelector completions completionMode activeDeadlineSeconds backoffLimit backoffLimitPerIndex maxFailedIndexes
		podFailurePolicy successPolicy ttlSecondsAfterFinished podReplacementPolicy`),
	rows(`parallelism`, Field{Support: Honoured, Reason: "at most 500 pods of a Job run at a time"}),
	rows(`managedBy`, Field{Support: Honoured, Values: []string{"kubernetes.io/job-controller"}, Reason: "no other controller runs Jobs here"}),
	ignored(noScheduler, `scheduling`),
)

var jobFields = concat(workloadFields, below("spec", jobSpecFields))

var cronJobFields = concat(objectMeta,
	honoured(`spec.schedule spec.timeZone spec.startingDeadlineSeconds spec.concurrencyPolicy spec.suspend
		spec.successfulJobsHistoryLimit spec.failedJobsHistoryLimit`),
	ignoredReportedAtPods("its jobs are named after it, and nothing reads their labels", `spec.jobTemplate.metadata`),
	honoured(`spec.jobTemplate.spec.template spec.jobTemplate.spec.selector`),
	below("spec.jobTemplate.spec", jobSpecFields),
	ignored(byServer, `status`),
)
