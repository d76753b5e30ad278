package daemon

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ThisMachine reads what tells this machine from others.
func ThisMachine() Machine { return readMachine(os.DirFS("/"), os.Getenv) }

// asset is how EC2's firmware says which instance it is.
var asset = regexp.MustCompile(`^i-[0-9a-f]{8,17}$`)

// readMachine reads it below a root.
func readMachine(root fs.FS, env func(string) string) Machine {
	if contained(root, env) {
		return Machine{}
	}
	const dmi = "sys/class/dmi/id/"
	var m Machine
	if tag := line(root, dmi+"board_asset_tag"); asset.MatchString(tag) {
		m.Instance = tag
	}
	if uuid := strings.ToLower(line(root, dmi+"product_uuid")); telling(uuid) {
		m.UUID = uuid
	}
	if id := line(root, "etc/machine-id"); len(id) == 32 && id != strings.Repeat("0", 32) {
		m.ID = id
	}
	devices, _ := fs.ReadDir(root, "sys/class/net") // none that can be read is none
	for _, d := range devices {
		at := path.Join("sys/class/net", d.Name())
		// Hardware, real or a hypervisor's, has a device behind it and keeps its
		// address; bridges, tunnels and a container's end of a pair have neither.
		if _, err := fs.Stat(root, path.Join(at, "device")); err != nil || line(root, path.Join(at, "addr_assign_type")) != "0" {
			continue
		}
		if mac := line(root, path.Join(at, "address")); len(mac) == 17 && strings.Trim(mac, "0:") != "" {
			m.MACs = append(m.MACs, strings.ToLower(mac))
		}
	}
	slices.Sort(m.MACs)
	m.MACs = slices.Compact(m.MACs)
	return m
}

// contained reports that guard runs in a container.
func contained(root fs.FS, env func(string) string) bool {
	if env("container") != "" || env("KUBERNETES_SERVICE_HOST") != "" {
		return true
	}
	for _, mark := range []string{".dockerenv", "run/.containerenv", "run/systemd/container"} {
		if _, err := fs.Stat(root, mark); err == nil {
			return true
		}
	}
	// What PID 1 was started with is root's to read.
	environ, err := fs.ReadFile(root, "proc/1/environ")
	return err == nil && slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return bytes.HasPrefix(v, []byte("container=")) })
}

// telling reports a UUID that some firmware has not given to every board alike.
func telling(uuid string) bool {
	digits := strings.ReplaceAll(uuid, "-", "")
	if len(bytesOf(uuid)) != 16 || strings.Trim(digits, "0") == "" || strings.Trim(digits, "f") == "" {
		return false
	}
	return uuid != "03000200-0400-0500-0006-000700080009" && uuid != "00020003-0004-0005-0006-000700080009"
}

// line is a small file's text; "" where it cannot be read.
func line(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
