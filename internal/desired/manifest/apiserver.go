package manifest

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	apps "k8s.io/kubernetes/pkg/apis/apps"
	appsdefaults "k8s.io/kubernetes/pkg/apis/apps/v1"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	batch "k8s.io/kubernetes/pkg/apis/batch"
	batchdefaults "k8s.io/kubernetes/pkg/apis/batch/v1"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	core "k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"
)

// The files apiserver*.go are the only ones that import k8s.io/kubernetes.
// Feature gates have the defaults of its release.

// withDefaults returns the pod as the API server stores it: defaulted, and taken
// through the internal type and back, which moves and normalizes a few fields
// (pkg/kubelet/config/common.go does the same with static pods).
func withDefaults(p *v1.Pod) (*v1.Pod, error) {
	corev1.SetObjectDefaults_Pod(p)
	internal, err := toInternal(p)
	if err != nil {
		return nil, err
	}
	podutil.DefaultPodLevelResources(internal)
	stored := &v1.Pod{TypeMeta: p.TypeMeta}
	if err := corev1.Convert_core_Pod_To_v1_Pod(internal, stored, nil); err != nil {
		return nil, fmt.Errorf("convert pod: %w", err)
	}
	return stored, nil
}

// validate returns what the API server answers to the creation of a defaulted pod
// (pkg/registry/core/pod/strategy.go): errors, and its warnings as text.
func validate(p *v1.Pod) (field.ErrorList, []string, error) {
	internal, err := toInternal(p)
	if err != nil {
		return nil, nil, err
	}
	// Until it is told otherwise the validation forbids privileged containers;
	// kubelets and clusters allow them. It is told once, and for good.
	capabilities.Setup(true, 0)
	opts := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
	opts.ResourceIsPod = true
	if internal.Spec.ServiceAccountName == "" {
		// As by the admission plugin ServiceAccount, which comes first.
		internal.Spec.ServiceAccountName, internal.Spec.DeprecatedServiceAccount = "default", "default" //nolint:staticcheck // SA1019: the validation wants both
	}
	return created(internal, opts), podutil.GetWarningsForPod(context.Background(), internal, nil), nil
}

// toInternal copies first: the conversion shares memory with its source.
func toInternal(p *v1.Pod) (*core.Pod, error) {
	internal := &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(p.DeepCopy(), internal, nil); err != nil {
		return nil, fmt.Errorf("convert pod: %w", err)
	}
	return internal, nil
}

// templateOptions returns the options for a workload's template; privileged
// containers are allowed as in validate.
func templateOptions(t *core.PodTemplateSpec) validation.PodValidationOptions {
	capabilities.Setup(true, 0)
	return podutil.GetValidationOptionsFromPodTemplate(t, nil)
}

func templateWarnings(t *core.PodTemplateSpec) []string {
	return podutil.GetWarningsForPodTemplate(context.Background(), field.NewPath("spec", "template"), t, nil)
}

// readDeployment and those below hold a workload against the API server's
// validation of a creation (pkg/registry/apps, pkg/registry/batch).
func readDeployment(d *appsv1.Deployment, _ types.UID) (*workload, error) {
	appsdefaults.SetObjectDefaults_Deployment(d)
	internal := &apps.Deployment{}
	if err := appsdefaults.Convert_v1_Deployment_To_apps_Deployment(d.DeepCopy(), internal, nil); err != nil {
		return nil, err
	}
	rolling := ""
	if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		rolling = "spec.strategy"
	}
	return &workload{
		meta: d.ObjectMeta, replicas: d.Spec.Replicas, rolling: rolling,
		errs:     appsvalidation.ValidateDeployment(internal, templateOptions(&internal.Spec.Template)),
		warnings: templateWarnings(&internal.Spec.Template),
	}, nil
}

func readReplicaSet(r *appsv1.ReplicaSet, _ types.UID) (*workload, error) {
	appsdefaults.SetObjectDefaults_ReplicaSet(r)
	internal := &apps.ReplicaSet{}
	if err := appsdefaults.Convert_v1_ReplicaSet_To_apps_ReplicaSet(r.DeepCopy(), internal, nil); err != nil {
		return nil, err
	}
	return &workload{
		meta: r.ObjectMeta, replicas: r.Spec.Replicas,
		errs:     appsvalidation.ValidateReplicaSet(internal, templateOptions(&internal.Spec.Template)),
		warnings: templateWarnings(&internal.Spec.Template),
	}, nil
}

func readReplicationController(r *v1.ReplicationController, _ types.UID) (*workload, error) {
	corev1.SetObjectDefaults_ReplicationController(r)
	internal := &core.ReplicationController{}
	if err := corev1.Convert_v1_ReplicationController_To_core_ReplicationController(r.DeepCopy(), internal, nil); err != nil {
		return nil, err
	}
	w := &workload{meta: r.ObjectMeta, replicas: r.Spec.Replicas}
	if internal.Spec.Template == nil {
		w.errs = validation.ValidateReplicationController(internal, validation.PodValidationOptions{})
		return w, nil
	}
	w.errs = validation.ValidateReplicationController(internal, templateOptions(internal.Spec.Template))
	w.warnings = templateWarnings(internal.Spec.Template)
	return w, nil
}

func readDaemonSet(d *appsv1.DaemonSet, _ types.UID) (*workload, error) {
	appsdefaults.SetObjectDefaults_DaemonSet(d)
	internal := &apps.DaemonSet{}
	if err := appsdefaults.Convert_v1_DaemonSet_To_apps_DaemonSet(d.DeepCopy(), internal, nil); err != nil {
		return nil, err
	}
	return &workload{
		meta: d.ObjectMeta, errs: appsvalidation.ValidateDaemonSet(internal, templateOptions(&internal.Spec.Template)),
		warnings: templateWarnings(&internal.Spec.Template),
	}, nil
}

func readStatefulSet(s *appsv1.StatefulSet, _ types.UID) (*workload, error) {
	appsdefaults.SetObjectDefaults_StatefulSet(s)
	internal := &apps.StatefulSet{}
	if err := appsdefaults.Convert_v1_StatefulSet_To_apps_StatefulSet(s.DeepCopy(), internal, nil); err != nil {
		return nil, err
	}
	w := &workload{
		meta: s.ObjectMeta, replicas: s.Spec.Replicas, service: s.Spec.ServiceName, claims: s.Spec.VolumeClaimTemplates,
		ordered:  s.Spec.PodManagementPolicy == appsv1.OrderedReadyPodManagement,
		errs:     appsvalidation.ValidateStatefulSet(internal, appsvalidation.StatefulSetValidationOptions{}, templateOptions(&internal.Spec.Template)),
		warnings: templateWarnings(&internal.Spec.Template),
	}
	if s.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		w.rolling = "spec.updateStrategy"
	}
	if s.Spec.Ordinals != nil {
		w.start = int(s.Spec.Ordinals.Start)
	}
	if s.Spec.Selector != nil {
		w.selector = s.Spec.Selector.MatchLabels
	}
	return w, nil
}

// A Job has its selector and some labels of its template from the API server.
func readJob(j *batchv1.Job, uid types.UID) (*workload, error) {
	batchdefaults.SetObjectDefaults_Job(j)
	w := &workload{meta: j.ObjectMeta, job: newJob("Job", j.ObjectMeta, uid, j.Spec)}
	internal := &batch.Job{}
	if err := batchdefaults.Convert_v1_Job_To_batch_Job(j.DeepCopy(), internal, nil); err != nil {
		return nil, err
	}
	internal.UID = uid
	if internal.Spec.ManualSelector == nil || !*internal.Spec.ManualSelector {
		template := &internal.Spec.Template
		template.Labels = mergedStrings(jobLabels(j.Name, uid), template.Labels)
		if internal.Spec.Selector == nil {
			internal.Spec.Selector = &metav1.LabelSelector{}
		}
		internal.Spec.Selector.MatchLabels = mergedStrings(
			map[string]string{batch.ControllerUidLabel: string(uid)}, internal.Spec.Selector.MatchLabels)
	}
	w.errs = batchvalidation.ValidateJobCreate(internal, batchvalidation.JobValidationOptions{
		PodValidationOptions: templateOptions(&internal.Spec.Template), RequirePrefixedLabels: true,
	})
	w.warnings = templateWarnings(&internal.Spec.Template)
	return w, nil
}

func readCronJob(c *batchv1.CronJob, uid types.UID) (*workload, error) {
	batchdefaults.SetObjectDefaults_CronJob(c)
	internal := &batch.CronJob{}
	if err := batchdefaults.Convert_v1_CronJob_To_batch_CronJob(c.DeepCopy(), internal, nil); err != nil {
		return nil, err
	}
	// What the creation of a Job adds: the controller creates one each time.
	spec := batchv1.Job{Spec: *c.Spec.JobTemplate.Spec.DeepCopy()}
	batchdefaults.SetObjectDefaults_Job(&spec)
	w := &workload{meta: c.ObjectMeta, job: newJob(cronJob, c.ObjectMeta, uid, spec.Spec)}
	w.job.Cron = c.Spec.DeepCopy()
	w.job.Cron.JobTemplate = batchv1.JobTemplateSpec{}
	template := &internal.Spec.JobTemplate.Spec.Template
	w.errs = batchvalidation.ValidateCronJobCreate(internal, templateOptions(template))
	w.warnings = podutil.GetWarningsForPodTemplate(context.Background(), field.NewPath("spec", "jobTemplate", "spec", "template"), template, nil)
	return w, nil
}
