package manifest

const (
	byServer      = "only an API server writes it"
	noScheduler   = "there is no scheduler: podctl runs the pod here"
	noTokenIssuer = "there is no API server to issue a token"
	onlyWindows   = "only containers on Windows have it"
	noCluster     = "it needs a control plane"
	// claimDevices says what to write instead of a claim for devices.
	claimDevices = "name devices of CDI specifications, by limits or an annotation: docs/volumes.md#devices"
	noPlugin     = "podctl has no plugin for it"
	gateDisabled = "its feature gate is closed by default: an API server drops it"
)

var metadataFields = concat(
	honoured(`apiVersion kind metadata.name metadata.namespace metadata.uid metadata.generation metadata.labels metadata.annotations
		metadata.annotations[kubernetes.io/config.source]`),
	// A generateName without a name is an error of its own (rules.go).
	ignored("metadata.name is set, and names the pod", `metadata.generateName`),
	ignored(byServer, `metadata.selfLink metadata.resourceVersion metadata.creationTimestamp
		metadata.deletionTimestamp metadata.deletionGracePeriodSeconds metadata.managedFields`),
	ignored("there are no controllers and no garbage collector", `metadata.ownerReferences metadata.finalizers`),
	refused("podctl writes it", `metadata.annotations[podctl.io/*]`),
	refused("mirror pods belong to API servers", `metadata.annotations[kubernetes.io/config.mirror]`),
	ignored("podman reads it, Kubernetes does not", `metadata.annotations[io.podman.annotations.*] metadata.annotations[io.containers.autoupdate*]
		metadata.annotations[bind-mount-options*]`),
)

var podFields = concat(
	honoured(`spec.restartPolicy spec.imagePullSecrets spec.readinessGates spec.terminationGracePeriodSeconds spec.activeDeadlineSeconds
		spec.dnsPolicy spec.dnsConfig spec.hostname spec.subdomain spec.setHostnameAsFQDN spec.hostnameOverride spec.hostAliases
		spec.hostNetwork spec.hostPID spec.hostIPC spec.hostUsers spec.shareProcessNamespace
		spec.priority spec.priorityClassName spec.runtimeClassName spec.overhead
		spec.securityContext.runAsUser spec.securityContext.runAsGroup spec.securityContext.runAsNonRoot
		spec.securityContext.supplementalGroups spec.securityContext.supplementalGroupsPolicy
		spec.securityContext.fsGroup spec.securityContext.fsGroupChangePolicy
		spec.securityContext.seccompProfile spec.securityContext.seLinuxOptions
		spec.securityContext.appArmorProfile spec.securityContext.sysctls`),
	below("spec.resources.limits", podResourceFields), below("spec.resources.requests", podResourceFields),
	rows("spec.os.name", Field{Support: Honoured, Reason: "a pod for another system than Linux is rejected: PodOSNotSupported"}),
	ignored(noScheduler, `spec.nodeName spec.nodeSelector spec.affinity spec.tolerations
		spec.topologySpreadConstraints spec.schedulerName spec.schedulingGates spec.schedulingGroup spec.preemptionPolicy`),
	ignoredReportedAtPods("of a declared ServiceAccount the pod has the imagePullSecrets; "+noTokenIssuer, `spec.serviceAccountName spec.serviceAccount`),
	ignoredReportedAtPods(noTokenIssuer, `spec.automountServiceAccountToken`),
	ignoredReportedAtPods("none of the volumes can be mounted with a label: the runtime labels the files", `spec.securityContext.seLinuxChangePolicy`),
	rows(`spec.enableServiceLinks`, Field{Support: Honoured, Reason: "variables of the Services that podctl serves"}),
	refused(gateDisabled, `spec.evictionResponders`),
	instead(noCluster, claimDevices, `spec.resources.claims spec.resourceClaims`),
	ignored(onlyWindows, `spec.securityContext.windowsOptions`),
)

var statusFields = concat(
	ignored("podctl computes the status", `status`),
	rows(`status.conditions`, Field{Support: Honoured, Reason: "those of others, such as of readiness gates; podctl sets its own"}),
)

// tokenField is honoured, too: with --service-account=FILE.
const tokenField = "projected.sources[].serviceAccountToken"

// volumeFields are the sources of a volume, and its name.
var volumeFields = concat(
	honoured(`name hostPath emptyDir configMap secret downwardAPI projected persistentVolumeClaim image`),
	instead(noTokenIssuer, "--service-account=ignore leaves the token out of the volume, --service-account=FILE puts the token of a file there", tokenField),
	instead(gateDisabled, "change the directory's mode in an init container", `emptyDir.mode`),
	instead(gateDisabled, "the files belong to root, and to the group of spec.securityContext.fsGroup", `secret.defaultUser secret.items[].user
		configMap.defaultUser configMap.items[].user downwardAPI.defaultUser downwardAPI.items[].user projected.defaultUser
		projected.sources[].secret.items[].user projected.sources[].configMap.items[].user projected.sources[].downwardAPI.items[].user
		projected.sources[].serviceAccountToken.user projected.sources[].clusterTrustBundle.user projected.sources[].podCertificate.user`),
	instead(noCluster, "put the certificates into a ConfigMap, and project that", `projected.sources[].clusterTrustBundle`),
	instead(noCluster, "put the key and the certificate into a Secret, and project that", `projected.sources[].podCertificate`),
	below("ephemeral.volumeClaimTemplate", concat(
		ignoredReportedAtPods(unread, `metadata.labels metadata.annotations`),
		ignored("the claim is named after the pod and the volume", `metadata.name metadata.generateName metadata.namespace metadata.uid`),
		ignored(byServer, `metadata.selfLink metadata.resourceVersion metadata.generation metadata.creationTimestamp
			metadata.deletionTimestamp metadata.deletionGracePeriodSeconds metadata.managedFields`),
		ignored("there are no controllers and no garbage collector", `metadata.ownerReferences metadata.finalizers`),
		below("spec", claimSpecFields),
		// Every claim must have them, so a warning would say nothing.
		below("spec", rows(`accessModes resources`, Field{Support: Honoured, Reason: "checked as by an API server; " + claimIsDirectory + ", and has what room the disk has"})),
		below("spec", ignored(claimIsDirectory, volumeSelectionFields)),
	)),
	instead("podctl has no CSI drivers", "mount the volume on this machine, and use a hostPath volume; or a persistentVolumeClaim, which is a directory here", `csi`),
	instead("podctl mounts no network file systems", "mount the export on this machine (mount -t nfs SERVER:PATH DIR), and use a hostPath volume of DIR with type Directory", `nfs`),
	instead(noPlugin, "clone the repository into an emptyDir in an init container", `gitRepo`),
	instead(noPlugin, "mount the volume on this machine, and use a hostPath volume", `iscsi fc cinder cephfs rbd glusterfs flocker azureFile azureDisk vsphereVolume quobyte
		photonPersistentDisk portworxVolume scaleIO storageos gcePersistentDisk awsElasticBlockStore flexVolume`),
)

// containerFields are those of a container of either list.
var containerFields = concat(
	honoured(`name image imagePullPolicy command args workingDir ports
		env[].name env[].value env[].valueFrom.fieldRef env[].valueFrom.resourceFieldRef
		env[].valueFrom.configMapKeyRef env[].valueFrom.secretKeyRef env[].valueFrom.fileKeyRef envFrom
		volumeMounts
		lifecycle livenessProbe readinessProbe startupProbe
		terminationMessagePath terminationMessagePolicy
		restartPolicy restartPolicyRules resizePolicy
		stdin stdinOnce tty
		securityContext.runAsUser securityContext.runAsGroup securityContext.runAsNonRoot
		securityContext.readOnlyRootFilesystem securityContext.privileged securityContext.allowPrivilegeEscalation
		securityContext.capabilities securityContext.procMount securityContext.seccompProfile
		securityContext.seLinuxOptions securityContext.appArmorProfile`),
	below("resources.limits", containerResourceFields), below("resources.requests", containerResourceFields),
	refused(gateDisabled, `volumeMounts[].bindMountOptions
		lifecycle.postStart.httpGet.protocol lifecycle.preStop.httpGet.protocol
		livenessProbe.httpGet.protocol readinessProbe.httpGet.protocol startupProbe.httpGet.protocol
		livenessProbe.grpc.mode readinessProbe.grpc.mode startupProbe.grpc.mode`),
	instead(noCluster, claimDevices, `resources.claims`),
	instead("podctl has no block volumes", "mount a file system; or a device of the machine by hostPath, in a privileged container", `volumeDevices`),
	ignored(onlyWindows, `securityContext.windowsOptions`),
)

// ephemeralFields are those of an ephemeral container; of the others the API
// server allows none.
var ephemeralFields = concat(
	honoured(`name targetContainerName image imagePullPolicy command args workingDir
		env[].name env[].value env[].valueFrom.fieldRef env[].valueFrom.resourceFieldRef
		env[].valueFrom.configMapKeyRef env[].valueFrom.secretKeyRef env[].valueFrom.fileKeyRef envFrom
		volumeMounts terminationMessagePath terminationMessagePolicy stdin stdinOnce tty
		securityContext.runAsUser securityContext.runAsGroup securityContext.runAsNonRoot
		securityContext.readOnlyRootFilesystem securityContext.privileged securityContext.allowPrivilegeEscalation
		securityContext.capabilities securityContext.procMount securityContext.seccompProfile
		securityContext.seLinuxOptions securityContext.appArmorProfile`),
	refused(gateDisabled, `volumeMounts[].bindMountOptions`),
	rows(`resources`, Field{Support: Refused, Reason: "ephemeral containers have none", emptyAllowed: true}),
	refused("ephemeral containers have none", `ports resizePolicy restartPolicy restartPolicyRules lifecycle
		livenessProbe readinessProbe startupProbe volumeDevices`),
	ignored(onlyWindows, `securityContext.windowsOptions`),
)

// containerResourceFields are those of a list of a container's; extended ones are devices.
var containerResourceFields = concat(
	honoured(`[cpu] [memory] [ephemeral-storage] [hugepages-*]`),
	rows(`[*]`, Field{Support: Honoured, Reason: "that many devices of the CDI kind of that name"}),
)

// podResourceFields are those of a list of the pod's own.
var podResourceFields = concat(
	honoured(`[cpu] [memory] [hugepages-*]`),
	refused("a pod as a whole has no limit or request of it: write it in a container", `[ephemeral-storage]`),
	refused("a pod as a whole has no devices: write it in a container", `[*]`),
)
