package pods

import "testing"

func TestContainersOfOrphanByState(t *testing.T) {
	for want, d := range map[string]OrphanData{
		"-":                              {},
		"2 running":                      {Containers: 2, Running: 2},
		"1 of 2 running":                 {Containers: 2, Running: 1},
		"2 exited":                       {Containers: 2},
		"1 created, 1 exited":            {Containers: 2, Created: 1},
		"1 unknown":                      {Containers: 1, Unknown: 1},
		"1 running, 1 unknown, 1 exited": {Containers: 3, Running: 1, Unknown: 1},
	} {
		if got := d.containersText(); got != want {
			t.Errorf("%+v: %q, want %q", d, got, want)
		}
	}
}
