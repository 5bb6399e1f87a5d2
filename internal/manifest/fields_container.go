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
	resources("resources.limits"), resources("resources.requests"),
	refused(noCluster, `resources.claims`),
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
	refused("ephemeral containers have none", `ports resources resizePolicy restartPolicy restartPolicyRules lifecycle
		livenessProbe readinessProbe startupProbe volumeDevices`),
	ignored(onlyWindows, `securityContext.windowsOptions`),
)

// resources are the resources of a list of them; others would need device
// plugins.
func resources(list string) []Field {
	return slices.Concat(
		below(list, honoured(`[cpu] [memory] [ephemeral-storage] [hugepages-*]`)),
		below(list, refused("extended resources are "+notYet, `[*]`)),
	)
}
