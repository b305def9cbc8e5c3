//go:build unix

package supervise

import (
	"os/exec"
	"syscall"
)

// group is the process group of a child: killing it kills what it started too,
// and Ctrl-C on our terminal does not reach it before we do.
type group struct{}

func (group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

func (group) adopt(*exec.Cmd) {}

func (group) kill(cmd *exec.Cmd) {
	// The group has the number of its first process. An error means it is gone.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

func (group) close() {}
