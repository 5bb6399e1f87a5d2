package manifest

import (
	"slices"
	"strings"
)

// templateFields are a pod's fields as a workload's template has them.
var templateFields = slices.Concat(
	honoured(`metadata.labels metadata.annotations`),
	ignored("the pods are named after the workload", `metadata.name metadata.generateName metadata.namespace metadata.uid`),
	ignored(byServer, `metadata.selfLink metadata.resourceVersion metadata.generation metadata.creationTimestamp
		metadata.deletionTimestamp metadata.deletionGracePeriodSeconds metadata.managedFields`),
	ignored("there are no controllers and no garbage collector", `metadata.ownerReferences metadata.finalizers`),
	startingWith("metadata.annotations[", table), startingWith("spec.", table),
)

func startingWith(prefix string, rows []Field) []Field {
	var some []Field
	for _, row := range rows {
		if strings.HasPrefix(row.Path, prefix) {
			some = append(some, row)
		}
	}
	return some
}

// workloadFields are those of every workload; selectors have to match the
// template, and select nothing.
var workloadFields = slices.Concat(objectMeta,
	honoured(`spec.template spec.selector`),
	ignored(byServer, `status`),
)

var deploymentFields = slices.Concat(workloadFields,
	honoured(`spec.replicas`),
	ignored(noControllers, `spec.strategy spec.minReadySeconds spec.revisionHistoryLimit spec.paused spec.progressDeadlineSeconds`),
)

var replicaSetFields = slices.Concat(workloadFields,
	honoured(`spec.replicas`),
	ignored(noControllers, `spec.minReadySeconds`),
)

var replicationControllerFields = replicaSetFields

var daemonSetFields = slices.Concat(workloadFields,
	ignored(noControllers, `spec.updateStrategy spec.minReadySeconds spec.revisionHistoryLimit`),
)

var statefulSetFields = slices.Concat(workloadFields,
	honoured(`spec.replicas spec.serviceName spec.ordinals`),
	below("spec.volumeClaimTemplates[]", claimFields),
	ignored(noControllers, `spec.podManagementPolicy spec.updateStrategy spec.minReadySeconds spec.revisionHistoryLimit
		spec.persistentVolumeClaimRetentionPolicy`),
)

var jobFields = slices.Concat(workloadFields,
	honoured(`spec.suspend spec.manualSelector`),
	[]Field{{Path: "spec.completionMode", Support: Honoured, Values: []string{"NonIndexed"}, Reason: "one pod runs, which has no index"}},
	ignored(noControllers, `spec.parallelism spec.completions spec.activeDeadlineSeconds spec.podFailurePolicy spec.successPolicy
		spec.backoffLimit spec.backoffLimitPerIndex spec.maxFailedIndexes spec.ttlSecondsAfterFinished
		spec.podReplacementPolicy spec.managedBy`),
	ignored(noScheduler, `spec.scheduling`),
)
