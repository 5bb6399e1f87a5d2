package cri

import (
	"reflect"
	"testing"
)

func TestARuntimeAppliesCDIIfItIsNewEnoughAndConfigured(t *testing.T) {
	for _, tt := range []struct {
		name, version, config string
		applies               bool
		directories           []string
	}{
		{"containerd", "1.6.36", `{"enableCDI": true}`, false, nil},
		{"containerd", "1.7.1", `{"enableCDI": true}`, false, nil},
		{"containerd", "1.7.28~ds1", `{"enableCDI": true, "cdiSpecDirs": ["/etc/cdi"]}`, true, []string{"/etc/cdi"}},
		{"containerd", "1.7.28", `{"enableCDI": false, "cdiSpecDirs": ["/etc/cdi"]}`, false, []string{"/etc/cdi"}},
		{"containerd", "1.7.28", `{}`, false, nil},
		{"containerd", "v2.0.0", `{"enableCDI": false}`, false, nil},
		{"containerd", "2.4.2", `{"cdiSpecDirs": ["/a", "/b"]}`, true, []string{"/a", "/b"}},
		{"cri-o", "1.27.1", ``, false, nil},
		{"cri-o", "1.34.1", `{"crio": {"CDISpecDirs": ["/run/cdi"]}}`, true, []string{"/run/cdi"}},
		{"other", "0.1", `no JSON`, true, nil},
	} {
		got := readCDI(Version{Name: tt.name, Version: tt.version}, ReadRuntimeConfig(map[string]string{"config": tt.config}))
		if (got.Refused == "") != tt.applies || !reflect.DeepEqual(got.Directories, tt.directories) {
			t.Errorf("%s %s, %s: %+v", tt.name, tt.version, tt.config, got)
		}
	}
}
