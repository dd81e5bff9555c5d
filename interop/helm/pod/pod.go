// Package pod runs the container of a pod as a process of this machine, as a kubelet would run it in a
// container: the same arguments, variables and files, with other paths and addresses.
package pod

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	core "k8s.io/api/core/v1"
)

// Machine is what a pod finds here.
type Machine struct {
	// Program replaces the image.
	Program string
	// ImageEnv are the variables of the image.
	ImageEnv map[string]string
	// IP is the address of the pod.
	IP string
	// Ports are the ports to listen on instead of those of the container; others stay the same.
	Ports map[int32]int
	// ConfigMap and Secret return the files of an object.
	ConfigMap func(name string) (map[string]string, error)
	Secret    func(name string) (map[string]string, error)
	// Replace are texts to replace in files, arguments and variables: old, new, old, new.
	Replace []string
	// Arguments are added to those of the container.
	Arguments []string
}

// Pod is the process of a container. Start starts it.
type Pod struct {
	// Root contains the mounted volumes.
	Root string
	// Args and Env are those of the process.
	Args, Env []string
	// Log is what the process writes.
	Log Output
	// Ended is closed when the process has ended.
	Ended chan struct{}

	program string
	extra   []string
	cmd     *exec.Cmd
}

// Output collects what a process writes. It is safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// New prepares the first container of a pod below the folder root.
func New(root string, spec *core.PodSpec, m *Machine) (*Pod, error) {
	p := &Pod{
		Root:    root,
		Ended:   make(chan struct{}),
		program: m.Program,
		extra:   m.Arguments,
	}
	c := &spec.Containers[0]
	replace := slices.Clone(m.Replace)
	files := map[string]map[string]string{} // by folder
	for _, mount := range c.VolumeMounts {
		at := slices.IndexFunc(spec.Volumes, func(v core.Volume) bool { return v.Name == mount.Name })
		if at < 0 {
			return nil, fmt.Errorf("there is no volume %s", mount.Name)
		}
		dir := filepath.Join(root, mount.MountPath)
		content, err := m.contents(&spec.Volumes[at])
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", mount.Name, err)
		}
		files[dir] = content
		if mount.MountPath != "/tmp" { // which may occur in other paths
			replace = append(replace, mount.MountPath, dir)
		}
	}
	for _, port := range c.Ports {
		local := net.JoinHostPort(m.IP, fmt.Sprint(m.port(port.ContainerPort)))
		replace = append(replace, fmt.Sprintf("[$(POD_IP)]:%d", port.ContainerPort), local,
			fmt.Sprintf(": :%d\n", port.ContainerPort), ": "+local+"\n")
	}
	local := strings.NewReplacer(replace...)
	for dir, content := range files {
		for name, text := range content {
			content[name] = local.Replace(text)
		}
		if err := mount(dir, content); err != nil {
			return nil, err
		}
	}
	for _, arg := range c.Args {
		p.Args = append(p.Args, local.Replace(arg))
	}
	return p, p.setVariables(c, m, local)
}

func (m *Machine) port(of int32) int {
	if local, ok := m.Ports[of]; ok {
		return local
	}
	return int(of)
}

// contents returns the files of a volume, by name.
func (m *Machine) contents(v *core.Volume) (files map[string]string, err error) {
	var items []core.KeyToPath
	switch {
	case v.EmptyDir != nil:
		return nil, nil
	case v.ConfigMap != nil:
		items = v.ConfigMap.Items
		files, err = m.ConfigMap(v.ConfigMap.Name)
	case v.Secret != nil:
		items = v.Secret.Items
		files, err = m.Secret(v.Secret.SecretName)
	default:
		err = fmt.Errorf("an unknown kind")
	}
	if err != nil || items == nil {
		return maps.Clone(files), err
	}
	chosen := map[string]string{}
	for _, item := range items {
		text, ok := files[item.Key]
		if !ok {
			return nil, fmt.Errorf("there is no key %s", item.Key)
		}
		chosen[item.Path] = text
	}
	return chosen, nil
}

// mount writes the files of a volume as a kubelet does: links to links to a folder that it can replace
// at once.
func mount(dir string, files map[string]string) error {
	const version = "..2026_11_28_08_30_00.123456789"
	if err := os.MkdirAll(filepath.Join(dir, version), 0o755); err != nil || files == nil {
		return err
	}
	links := map[string]string{"..data": version}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, version, name), []byte(text), 0o640); err != nil {
			return err
		}
		links[name] = filepath.Join("..data", name)
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// setVariables sets the environment of the container.
func (p *Pod) setVariables(c *core.Container, m *Machine, local *strings.Replacer) error {
	all := maps.Clone(m.ImageEnv)
	all["HOME"] = filepath.Join(p.Root, "/tmp")
	for _, e := range c.Env {
		switch from := e.ValueFrom; {
		case from == nil:
			all[e.Name] = local.Replace(e.Value)
		case from.FieldRef != nil && from.FieldRef.FieldPath == "status.podIP":
			all[e.Name] = m.IP
		case from.SecretKeyRef != nil:
			keys, err := m.Secret(from.SecretKeyRef.Name)
			if err != nil {
				return err
			}
			all[e.Name] = keys[from.SecretKeyRef.Key]
		default:
			return fmt.Errorf("the variable %s has an unknown source", e.Name)
		}
	}
	for name, value := range all {
		p.Env = append(p.Env, name+"="+value)
	}
	return nil
}

// Command returns the program with other arguments, and the files and variables of the pod.
func (p *Pod) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.program, args...)
	cmd.Dir = filepath.Join(p.Root, "/tmp")
	cmd.Env = p.Env
	return cmd
}

// Start starts the container.
func (p *Pod) Start() error {
	p.cmd = p.Command(append(slices.Clone(p.Args), p.extra...)...)
	p.cmd.Stdout = &p.Log
	p.cmd.Stderr = &p.Log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.Ended)
	}()
	return nil
}

// Signal sends a signal to the process; one that has ended gets none.
func (p *Pod) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Stop kills the process, and waits until it has ended.
func (p *Pod) Stop() {
	_ = p.cmd.Process.Kill()
	<-p.Ended
}
