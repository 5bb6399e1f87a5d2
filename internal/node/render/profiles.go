package render

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// seccompProfile is unconfined where nothing is asked for: the kubelet's
// seccompDefault is off (fieldSeccompProfile in
// pkg/kubelet/kuberuntime/helpers.go). dir is where local profiles lie.
func seccompProfile(p *v1.SeccompProfile, dir string) (*runtimeapi.SecurityProfile, error) {
	if p == nil {
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}, nil
	}
	switch p.Type {
	case v1.SeccompProfileTypeRuntimeDefault:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault}, nil
	case v1.SeccompProfileTypeLocalhost:
		if p.LocalhostProfile == nil || *p.LocalhostProfile == "" {
			return nil, errors.New("seccompProfile of type Localhost has no localhostProfile")
		}
		return &runtimeapi.SecurityProfile{
			ProfileType:  runtimeapi.SecurityProfile_Localhost,
			LocalhostRef: filepath.Join(dir, *p.LocalhostProfile),
		}, nil
	default:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}, nil
	}
}

// appArmorProfile returns the profile in the CRI's two forms, the structured one
// and the string of older runtimes (getAppArmorProfile in
// pkg/kubelet/kuberuntime/helpers.go). Both are empty where nothing is asked
// for: the runtime chooses.
func appArmorProfile(p *v1.AppArmorProfile) (*runtimeapi.SecurityProfile, string, error) {
	if p == nil {
		return nil, "", nil
	}
	switch p.Type {
	case v1.AppArmorProfileTypeRuntimeDefault:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault},
			v1.DeprecatedAppArmorBetaProfileRuntimeDefault, nil
	case v1.AppArmorProfileTypeUnconfined:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined},
			v1.DeprecatedAppArmorBetaProfileNameUnconfined, nil
	case v1.AppArmorProfileTypeLocalhost:
		if p.LocalhostProfile == nil {
			return nil, "", errors.New("appArmorProfile of type Localhost has no localhostProfile")
		}
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Localhost, LocalhostRef: *p.LocalhostProfile},
			v1.DeprecatedAppArmorBetaProfileNamePrefix + *p.LocalhostProfile, nil
	default:
		return nil, "", fmt.Errorf("appArmorProfile has the unknown type %q", p.Type)
	}
}

// appArmorAnnotation returns the profile in the annotation that came before the
// field, nil if there is none that makes sense
// (pkg/security/apparmor/helpers.go).
func appArmorAnnotation(p *v1.Pod, container string) *v1.AppArmorProfile {
	value, ok := p.Annotations[v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+container]
	if !ok {
		return nil
	}
	if name, local := strings.CutPrefix(value, v1.DeprecatedAppArmorBetaProfileNamePrefix); local {
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
	}
	switch value {
	case v1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}
	case v1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeUnconfined}
	default:
		return nil
	}
}
