package codex

import (
	"bytes"
	"io"
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
)

// maxNames is how much of the list of names is looked through, from its end:
// some thousand names.
const maxNames = 256 << 10

// named returns the name that a person gave to a session, from the list that
// Codex keeps beside its sessions: a line for each naming, the newest one last.
// Most sessions have none, and many versions of Codex no list.
func named(path, session string) string {
	list := filepath.Join(home(path), "session_index.jsonl")
	file, err := agent.OpenRegular(list)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > maxNames {
		if _, err := file.Seek(-maxNames, io.SeekEnd); err != nil {
			return ""
		}
	}
	names, err := io.ReadAll(io.LimitReader(file, maxNames))
	if err != nil {
		return ""
	}
	for at := len(names); at >= 0; {
		if at = bytes.LastIndex(names[:at], []byte(session)); at < 0 {
			break
		}
		begin := bytes.LastIndexByte(names[:at], '\n') + 1
		line, _, _ := bytes.Cut(names[begin:], []byte("\n"))
		name, d := "", agent.Decoder{}
		d.Decode(bytes.Clone(line), func(v agent.Value) {
			if v.Is(session, "id") {
				name = v.Text("thread_name")
			}
		})
		if name != "" {
			return name
		}
		at = begin
	}
	return ""
}

// home returns the directory of Codex that a session's file is in.
func home(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if base := filepath.Base(dir); base == "sessions" || base == archive {
			return filepath.Dir(dir)
		}
		if dir == filepath.Dir(dir) {
			return filepath.Dir(path)
		}
	}
}
