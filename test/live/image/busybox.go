package image

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// BusyboxName is the name under which private runtimes hold the test image.
const BusyboxName = "docker.io/library/busybox:latest"

const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

const passwd = `root:x:0:0:root:/root:/bin/sh
daemon:x:1:1:daemon:/usr/sbin:/bin/false
www-data:x:33:33:www-data:/var/www:/bin/false
nobody:x:65534:65534:nobody:/home:/bin/false
`

const group = `root:x:0:
daemon:x:1:
www-data:x:33:
nogroup:x:65534:
`

// Busybox makes the test image: the host's static busybox with every applet
// linked in /bin, PATH set, no entrypoint; its command is sh. It is an error
// if the host has no busybox or a dynamic one.
func Busybox() (v1.Image, error) {
	path, err := findBusybox()
	if err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read busybox: %w", err)
	}
	applets, err := exec.Command(path, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("list applets of %s: %w", path, err)
	}
	files := []File{
		{Name: "bin/", Mode: 0o755}, {Name: "bin/busybox", Mode: 0o755, Data: binary},
		{Name: "dev/", Mode: 0o755}, {Name: "home/", Mode: 0o755}, {Name: "proc/", Mode: 0o755},
		{Name: "root/", Mode: 0o700}, {Name: "sys/", Mode: 0o755}, {Name: "tmp/", Mode: 0o1777},
		{Name: "usr/", Mode: 0o755}, {Name: "usr/bin/", Mode: 0o755}, {Name: "usr/sbin/", Mode: 0o755},
		{Name: "var/", Mode: 0o755}, {Name: "var/www/", Mode: 0o755},
		{Name: "etc/", Mode: 0o755},
		{Name: "etc/passwd", Mode: 0o644, Data: []byte(passwd)},
		{Name: "etc/group", Mode: 0o644, Data: []byte(group)},
	}
	for applet := range strings.FieldsSeq(string(applets)) {
		if applet != "busybox" {
			files = append(files, File{Name: "bin/" + applet, Mode: 0o777, Target: "busybox"})
		}
	}
	return Build(files, v1.Config{Env: []string{searchPath}, Cmd: []string{"sh"}})
}

// findBusybox returns the first static busybox of the usual places.
func findBusybox() (string, error) {
	var problems []error
	for _, path := range []string{"/bin/busybox", "/usr/bin/busybox", "/usr/local/bin/busybox"} {
		switch static, err := isStatic(path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			problems = append(problems, err)
		case !static:
			problems = append(problems, fmt.Errorf("%s is linked dynamically", path))
		default:
			return path, nil
		}
	}
	problems = append(problems, errors.New("install Debian's busybox-static"))
	return "", fmt.Errorf("find static busybox: %w", errors.Join(problems...))
}

func isStatic(path string) (bool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return false, nil
		}
	}
	return true, nil
}
