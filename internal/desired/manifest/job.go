package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Job is the Job or CronJob of a Pod that is its template.
type Job struct {
	Kind, Namespace, Name string
	// UID is the same for two versions between which the API server lets a Job change; of a CronJob
	// all versions have one.
	UID types.UID
	// Spec is defaulted, without what the pod has of its template: only the restart policy.
	Spec batchv1.JobSpec
	// Cron has the fields of a CronJob but the template of its jobs; nil for a Job.
	Cron *batchv1.CronJobSpec
}

func newJob(kind string, meta metav1.ObjectMeta, uid types.UID, spec batchv1.JobSpec) *Job {
	spec.Template = v1.PodTemplateSpec{Spec: v1.PodSpec{RestartPolicy: spec.Template.Spec.RestartPolicy}}
	return &Job{Kind: kind, Namespace: meta.Namespace, Name: meta.Name, UID: uid, Spec: spec}
}

// isSuspended reports whether no pod is to run.
func (j *Job) isSuspended() bool {
	if j.Cron != nil {
		return j.Cron.Suspend != nil && *j.Cron.Suspend
	}
	return j.Spec.Suspend != nil && *j.Spec.Suspend
}

// firstPod is the pod for which the template stands; that of a CronJob is of a job at the epoch.
func (j *Job) firstPod() JobPod {
	p := JobPod{Job: j.Name, JobUID: j.UID}
	if j.Cron != nil {
		p.Job += "-0"
		p.JobUID = j.RunUID(p.Job)
	}
	if j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion {
		p.Index = new(int)
	}
	return p
}

// JobPod identifies a pod of a Job.
type JobPod struct {
	Job    string
	JobUID types.UID
	// Number counts the pods of the Job from 0.
	Number int
	// Index is the completion index of an Indexed Job, nil in others.
	Index *int
	// Failures are the earlier failures of the index, if they have a limit.
	Failures *int32
}

// UID returns the UID of the pod.
func (j JobPod) UID() types.UID { return hashUID(marshal([]any{j.JobUID, j.Number})) }

// Name returns the name of the pod. The API server's has other characters at its end, but as many
// (podGenerateNameWithIndex in pkg/controller/job/indexed_job_utils.go).
func (j JobPod) Name(namespace string) string {
	if j.Index == nil {
		return generatedName("Job", namespace, j.Job, "-", j.Number)
	}
	return generatedName("Job", namespace, j.Job, fmt.Sprintf("-%d-", *j.Index), j.Number)
}

// StampJobPod returns a pod of a Job and its document. template is the Document of the Pod that has the
// Job.
func StampJobPod(template []byte, j JobPod) (*v1.Pod, []byte, error) {
	value, err := unmarshal(template)
	doc, ok := value.(map[string]any)
	if err != nil || !ok {
		return nil, nil, fmt.Errorf("decode template of Job %q: %v", j.Job, err)
	}
	stampJob(doc, j)
	document := canonical(doc)
	p, err := Decode(document)
	return p, document, err
}

// stampJob makes the document of a template that of a pod (manageJob in pkg/controller/job/job_controller.go).
func stampJob(doc map[string]any, j JobPod) {
	metadata := mapping(doc, "metadata")
	namespace, _ := metadata["namespace"].(string)
	metadata["name"], metadata["uid"] = j.Name(namespace), string(j.UID())
	labels, annotations := mapping(metadata, "labels"), mapping(metadata, "annotations")
	for key, value := range jobLabels(j.Job, j.JobUID) {
		labels[key] = value
	}
	if j.Index == nil {
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
		return
	}
	index := strconv.Itoa(*j.Index)
	labels[batchv1.JobCompletionIndexAnnotation], annotations[batchv1.JobCompletionIndexAnnotation] = index, index
	if j.Failures != nil {
		annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(int(*j.Failures))
	}
	spec := mapping(doc, "spec")
	spec["hostname"] = fmt.Sprintf("%s-%d", j.Job, *j.Index)
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			if c, ok := c.(map[string]any); ok {
				addIndexEnv(c)
			}
		}
	}
}

const indexEnv = "JOB_COMPLETION_INDEX"

func addIndexEnv(container map[string]any) {
	env, _ := container["env"].([]any)
	isIndex := func(v any) bool { m, _ := v.(map[string]any); return m["name"] == indexEnv }
	if !slices.ContainsFunc(env, isIndex) {
		path := "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']"
		container["env"] = append(env, map[string]any{"name": indexEnv, "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": path}}})
	}
}

// mapping returns the mapping at a key, which it makes if there is none.
func mapping(m map[string]any, key string) map[string]any {
	inner, ok := m[key].(map[string]any)
	if !ok {
		inner = map[string]any{}
		m[key] = inner
	}
	return inner
}

// jobMutable are the fields of a Job's spec that may change while it runs (ValidateJobUpdate in
// pkg/apis/batch/validation/validation.go).
var jobMutable = []string{"parallelism", "suspend", "activeDeadlineSeconds", "backoffLimit", "maxFailedIndexes", "ttlSecondsAfterFinished", "podReplacementPolicy"}

// workloadUID returns the UID of a workload; of a CronJob it is that of its name.
func workloadUID(k *kind, doc map[string]any) types.UID {
	doc = resolved(doc, k)
	if k.name != "Job" && k.name != cronJob {
		return hashUID(marshal(doc))
	}
	metadata, _ := doc["metadata"].(map[string]any)
	spec, _ := doc["spec"].(map[string]any)
	spec = maps.Clone(spec)
	withoutKeys(spec, jobMutable...)
	if spec["completionMode"] == string(batchv1.IndexedCompletion) {
		delete(spec, "completions")
	}
	if k.name == cronJob {
		spec = nil
	}
	return hashUID(marshal(map[string]any{"kind": k.name, "namespace": metadata["namespace"], "name": metadata["name"], "spec": spec}))
}

// RunUID returns the UID of the Job that a CronJob starts under a name.
func (j *Job) RunUID(name string) types.UID {
	return hashUID(marshal([]any{j.UID, name}))
}

const cronJob = "CronJob"
