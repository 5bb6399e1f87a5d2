package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// noCgroups is for a simulated runtime, whose containers have no processes.
type noCgroups struct{}

func (noCgroups) Parent(*v1.Pod) string     { return "" }
func (noCgroups) Ensure(*v1.Pod) error      { return nil }
func (noCgroups) Remove(types.UID) error    { return nil }
func (noCgroups) RemoveEmptyParents() error { return nil }
