package proc

import (
	"reflect"
	"testing"
)

const socketHeader = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

func TestListenersOfNetworkNamespace(t *testing.T) {
	root := FS(t.TempDir())
	fake(t, root, 10, map[string]string{
		"net/tcp": socketHeader +
			"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0\n" +
			"   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 20 4 30 10 -1\n",
		"net/tcp6": socketHeader + "   0: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 99 1\n   1: nonsense\n",
		"net/udp":  socketHeader + "  35: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 53 2 0000000000000000 0\n",
	})
	got, err := root.Listeners(10)
	want := []Listener{{"TCP", 8080, 4711}, {"TCP", 22, 99}, {"UDP", 53, 53}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if pids, err := root.Listening(10, func(l Listener) bool { return l.Port == 8080 }); err != nil || len(pids) != 0 {
		t.Errorf("processes without that socket: %v, %v", pids, err)
	}
	if _, err := root.Listeners(11); err == nil {
		t.Error("no error of a process that does not exist")
	}
}
