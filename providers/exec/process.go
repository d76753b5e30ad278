package exec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	osexec "os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is the way to a program that runs.
type conn interface {
	io.ReadWriter
	SetDeadline(t time.Time) error
	// unread is true where the kernel tells that there is something to read.
	unread() bool
	// end ends the program and whatever it has started, and says in our words how it ended,
	// and whether it had ended by itself.
	end() (how string, itself bool)
}

// process is a program as the operating system runs it.
type process struct {
	cmd      *osexec.Cmd
	in, out  *os.File
	err      *os.File
	grumbled atomic.Int64 // bytes on its standard error
	drained  chan struct{}
}

// lastWords is how long the rest of a standard error is waited for: a program that went its
// own way may hold it open.
const lastWords = time.Second

// start runs a program in its own group, with an environment of its own and from the root
// folder. The error is in our words.
func start(command, env []string) (conn, error) {
	var pipes []*os.File
	fail := func(err error) (conn, error) {
		for _, f := range pipes {
			f.Close()
		}
		return nil, err
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return fail(errors.New("no pipe can be made: too many files are open"))
		}
		pipes = append(pipes, r, w)
	}
	cmd := osexec.Command(command[0], command[1:]...) //nolint:noctx // it outlives the call that starts it
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	cmd.Env, cmd.Dir, cmd.SysProcAttr = env, "/", group()
	if err := cmd.Start(); err != nil {
		return fail(fmt.Errorf("it cannot be started: %s", reason(err)))
	}
	for _, f := range []*os.File{pipes[0], pipes[3], pipes[5]} {
		f.Close()
	}
	p := &process{cmd: cmd, in: pipes[1], out: pipes[2], err: pipes[4], drained: make(chan struct{})}
	go p.drain()
	return p, nil
}

// reason is why a program does not start, without the path that the error repeats.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file, or what its first line names is not there"
	case errors.Is(err, fs.ErrPermission):
		return "the user that guardd runs as may not run it; is it executable?"
	case errors.Is(err, syscall.ENOEXEC):
		return "it is no program: a script begins with #! and its interpreter"
	case errors.Is(err, syscall.ETXTBSY):
		return "somebody is writing to its file"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return "the machine has no room for another process"
	}
	return "the operating system refuses"
}

// drain keeps a full standard error from stopping the program. It may hold secrets, and
// is not kept.
func (p *process) drain() {
	defer close(p.drained)
	b := make([]byte, 4<<10)
	for {
		n, err := p.err.Read(b)
		p.grumbled.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// Read implements conn.
func (p *process) Read(b []byte) (int, error) { return p.out.Read(b) }

// Write implements conn.
func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

// SetDeadline implements conn.
func (p *process) SetDeadline(t time.Time) error {
	return errors.Join(p.in.SetWriteDeadline(t), p.out.SetReadDeadline(t))
}

// end implements conn. The group goes before the program is waited for, see killGroup.
func (p *process) end() (how string, itself bool) {
	killGroup(p.cmd.Process.Pid)
	p.in.Close()
	p.out.Close()
	_ = p.cmd.Wait() // how it ended is in its state
	last := time.NewTimer(lastWords)
	defer last.Stop()
	select {
	case <-p.drained:
	case <-last.C:
	}
	p.err.Close()
	how = p.cmd.ProcessState.String()
	if n := p.grumbled.Load(); n > 0 {
		how += fmt.Sprintf("; it wrote %d bytes to its standard error, which guard does not show: send that to a file to read them", n)
	}
	return how, p.cmd.ProcessState.Exited()
}

// Programs are those that run, to be ended together.
type Programs struct {
	mu      sync.Mutex
	running map[*talk]bool
	closed  bool
}

// add takes a program in; false where all have been ended.
func (ps *Programs) add(t *talk) bool {
	if ps == nil {
		return true
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.closed {
		return false
	}
	if ps.running == nil {
		ps.running = map[*talk]bool{}
	}
	ps.running[t] = true
	return true
}

func (ps *Programs) remove(t *talk) {
	if ps == nil {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.running, t)
}

// Close ends all programs. None starts afterwards.
func (ps *Programs) Close() {
	ps.mu.Lock()
	ps.closed = true
	all := ps.running
	ps.running = nil
	ps.mu.Unlock()
	for t := range all {
		t.end()
	}
}
