package manifest

import "slices"

// containerFields are those of a container of either list.
var containerFields = slices.Concat(
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
var ephemeralFields = slices.Concat(
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
var containerResourceFields = slices.Concat(
	honoured(`[cpu] [memory] [ephemeral-storage] [hugepages-*]`),
	rows(`[*]`, Field{Support: Honoured, Reason: "that many devices of the CDI kind of that name"}),
)

// podResourceFields are those of a list of the pod's own.
var podResourceFields = slices.Concat(
	honoured(`[cpu] [memory] [hugepages-*]`),
	refused("a pod as a whole has no limit or request of it: write it in a container", `[ephemeral-storage]`),
	refused("a pod as a whole has no devices: write it in a container", `[*]`),
)
