package manifest

import "slices"

const oneMachine = "a claim is a directory on this machine"

// objectMeta are the metadata of everything but pods.
var objectMeta = slices.Concat(
	honoured(`apiVersion kind metadata.name metadata.namespace metadata.labels metadata.annotations`),
	ignored("metadata.name is set, and names the object", `metadata.generateName`),
	ignored("only pods have UIDs here", `metadata.uid`),
	ignored(byServer, `metadata.selfLink metadata.resourceVersion metadata.generation metadata.creationTimestamp
		metadata.deletionTimestamp metadata.deletionGracePeriodSeconds metadata.managedFields`),
	ignored("there are no controllers and no garbage collector", `metadata.ownerReferences metadata.finalizers`),
)

var configMapFields = slices.Concat(objectMeta,
	honoured(`data binaryData immutable`),
)

var secretFields = slices.Concat(objectMeta,
	honoured(`data stringData type immutable`),
)

// A claim is a directory of its name: all that chooses among volumes of a
// cluster has nothing to choose from.
var claimFields = slices.Concat(objectMeta, below("spec", claimSpecFields),
	ignored("only an API server writes it", `status`),
)

var claimSpecFields = slices.Concat(
	honoured(`accessModes`),
	[]Field{
		{Path: "volumeMode", Support: Honoured, Values: []string{"Filesystem"}, Reason: oneMachine},
		// Every claim must have it, so a warning would say nothing.
		{Path: "resources", Support: Honoured, Reason: oneMachine + ", and has what room the disk has"},
	},
	ignored(oneMachine, `selector storageClassName volumeName volumeAttributesClassName`),
	instead(oneMachine+", and begins empty", "fill it in an init container", `dataSource dataSourceRef`),
)
