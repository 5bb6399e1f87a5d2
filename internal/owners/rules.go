package owners

import "slices"

// rule is one row of the table: the relation of the owner where every column matches. An
// empty column matches anything.
type rule struct {
	creator []CreatorEvidence
	process []ProcessEvidence
	source  []SourceEvidence
	kubelet []KubeletEvidence
	runs    bool // only pods of which something runs

	relation Relation
	by       OwnerKind
}

// rules is the table. The first row that matches decides.
var rules = []rule{
	{process: []ProcessEvidence{ProcessRuns}, relation: Manages, by: ByPodctl},
	{process: []ProcessEvidence{ProcessHoldsName}, creator: []CreatorEvidence{CreatedByPodctl, NoSandbox}, relation: Manages, by: ByPodctl},
	{process: []ProcessEvidence{CreatorLives}, relation: Manages, by: ByPodctl},
	{process: []ProcessEvidence{ProcessSilent, ProcessUnseen}, relation: Unknown, by: ByPodctl},
	{process: []ProcessEvidence{NamesakeLives}, relation: Manages, by: ByPodctl},
	{process: []ProcessEvidence{ProcessWaits}, relation: Desires, by: ByPodctl},
	{kubelet: []KubeletEvidence{KubeletNames}, relation: Desires, by: ByKubelet},
	{source: []SourceEvidence{SourceNamesUID}, relation: Desires, by: BySource},
	// An earlier pod of a static pod's name.
	{
		source: []SourceEvidence{SourceNamesName}, creator: []CreatorEvidence{CreatedByKubelet, NoSandbox},
		kubelet: []KubeletEvidence{KubeletOmits}, runs: true, relation: Terminates, by: ByKubelet,
	},
	{source: []SourceEvidence{SourceNamesName}, relation: Desires, by: BySource},
	{
		creator: []CreatorEvidence{CreatedByKubelet, NoSandbox},
		kubelet: []KubeletEvidence{KubeletUnsettled}, relation: Unknown, by: ByKubelet,
	},
	{creator: []CreatorEvidence{CreatedByKubelet}, kubelet: []KubeletEvidence{KubeletAbsent}, relation: Unknown, by: ByKubelet},
	// A live kubelet terminates a running pod that it does not know within two seconds
	// (HandlePodCleanups in pkg/kubelet/kubelet_pods.go): one that runs on is within its
	// grace period.
	{
		creator: []CreatorEvidence{CreatedByKubelet, NoSandbox},
		kubelet: []KubeletEvidence{KubeletOmits, KubeletSourcesOmit}, runs: true, relation: Terminates, by: ByKubelet,
	},
	{relation: None, by: Nobody},
}

// decide returns the row that decides. The last row matches everything.
func decide(e Evidence) rule {
	return rules[slices.IndexFunc(rules, func(r rule) bool { return r.matches(e) })]
}

func (r rule) matches(e Evidence) bool {
	return matchesColumn(e.Creator, r.creator) && matchesColumn(e.Process, r.process) && matchesColumn(e.Source, r.source) && matchesColumn(e.Kubelet, r.kubelet) && (e.Runs || !r.runs)
}

// matchesColumn reports whether a column matches.
func matchesColumn[T comparable](v T, column []T) bool {
	return len(column) == 0 || slices.Contains(column, v)
}
