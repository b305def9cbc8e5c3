package supervise

import (
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is the job object of a child: what it started dies with it, and all of
// them when the last handle is closed, as it is when we are gone.
type group struct{ job windows.Handle }

func (*group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// adopt puts the child into a job. Without one, on a system that grants none,
// the child still notices the end of its input.
func (g *group) adopt(cmd *exec.Cmd) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	if err := fill(job, uint32(cmd.Process.Pid)); err != nil {
		_ = windows.CloseHandle(job)
		return
	}
	g.job = job
}

func fill(job windows.Handle, pid uint32) error {
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return err
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process) // the job keeps the process
	return windows.AssignProcessToJobObject(job, process)
}

func (g *group) kill(cmd *exec.Cmd) {
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
	}
	_ = cmd.Process.Kill()
}

func (g *group) close() {
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
	}
}
