package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// child returns the process id of the child of pid whose first argument is arg,
// 0 if there is none.
func child(pid int, arg string) int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(data)) {
			cmdline, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if args := bytes.Split(cmdline, []byte{0}); len(args) > 1 && string(args[1]) == arg {
				id, _ := strconv.Atoi(field)
				return id
			}
		}
	}
	return 0
}

// services counts the services among the processes of a script.
func services(work string) int {
	n := 0
	for _, pid := range processesOf(work) {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if bytes.Contains(cmdline, []byte("\x00serve\x00")) {
			n++
		}
	}
	return n
}

// processesOf returns the processes of ambry that a script started, and theirs.
func processesOf(work string) []int {
	var found []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || dead(pid) {
			continue
		}
		environ, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		cmdline, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if bytes.Contains(environ, []byte("WORK="+work+"\x00")) && bytes.Contains(cmdline, []byte("ambry")) {
			found = append(found, pid)
		}
	}
	return found
}

// dead reports whether a process has ended, even if nobody has asked how.
func dead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	after := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, threads = 0, 17 // see proc_pid_stat(5), where the state is number 3
	if len(after) <= threads || len(after[state]) != 1 || !bytes.ContainsAny(after[state], "ZX") {
		return false
	}
	// The first thread may have ended before others, which still have files and locks.
	return string(after[threads]) == "0" || string(after[threads]) == "1"
}
