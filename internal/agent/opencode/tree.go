package opencode

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"ambry.dev/ambry/internal/agent"
)

// tree is a tree of files, as OpenCode wrote it before it had a database: a file
// for each session, each message and each part of one.
type tree struct {
	storage string
	old     bool // of 0.5 and before
}

// trees returns where trees can be, the newest first: of a session that is in
// several the first one counts.
func trees(h agent.Home) []tree {
	storage := filepath.Join(data(h), "storage")
	all := []tree{{storage, false}, {storage, true}}
	projects, _ := os.ReadDir(filepath.Join(data(h), "project")) // none, most of the time
	for _, e := range projects {
		all = append(all, tree{filepath.Join(data(h), "project", e.Name(), "storage"), true})
	}
	return all
}

// dirs returns the directories with the files of sessions: one for each project,
// or for all.
func (t tree) dirs() ([]string, error) {
	sessions := filepath.Join(t.storage, "session")
	if t.old {
		return []string{filepath.Join(sessions, "info")}, nil
	}
	entries, err := os.ReadDir(sessions)
	var dirs []string
	for _, e := range entries {
		if e.IsDir() && !isOld(e.Name()) {
			dirs = append(dirs, filepath.Join(sessions, e.Name()))
		}
	}
	return dirs, absent(err)
}

// isOld reports whether a directory beside those of the projects is of an old
// tree.
func isOld(name string) bool { return name == "info" || name == "message" || name == "part" }

func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// file is the file of a session in a tree.
type file struct {
	tree
	path, id string
}

// fileAt returns the file of a session at path, which must look like one.
func fileAt(path string) (file, bool) {
	id, ok := strings.CutSuffix(filepath.Base(path), ".json")
	project := filepath.Dir(path)
	sessions := filepath.Dir(project)
	if !ok || id == "" || filepath.Base(sessions) != "session" || filepath.Base(project) != "info" && isOld(filepath.Base(project)) {
		return file{}, false
	}
	return file{tree{filepath.Dir(sessions), filepath.Base(project) == "info"}, path, id}, true
}

// messages returns the directory of the messages.
func (f file) messages() string {
	if f.old {
		return filepath.Join(f.storage, "session", "message", f.id)
	}
	return filepath.Join(f.storage, "message", f.id)
}

// parts returns the directory of the parts of a message.
func (f file) parts(message string) string {
	if f.old {
		return filepath.Join(f.storage, "session", "part", f.id, message)
	}
	return filepath.Join(f.storage, "part", message)
}

// files yields the file of each session, in the newest of the trees that it is
// in; an error is about the directory that is told with it.
func files(h agent.Home) iter.Seq2[file, error] {
	return func(yield func(file, error) bool) {
		seen := map[string]bool{}
		in := func(dir string) bool {
			ids, err := names(dir)
			if err != nil && !yield(file{path: dir}, err) {
				return false
			}
			for _, id := range ids {
				f, ok := fileAt(filepath.Join(dir, id+".json"))
				if !ok || seen[id] {
					continue
				}
				if seen[id] = true; !yield(f, nil) {
					return false
				}
			}
			return true
		}
		for _, t := range trees(h) {
			dirs, err := t.dirs()
			if err != nil && !yield(file{path: t.storage}, err) {
				return
			}
			for _, dir := range dirs {
				if !in(dir) {
					return
				}
			}
		}
	}
}

// scattered yields the sessions of the trees that are not in the databases.
func scattered(ctx context.Context, h agent.Home, databases []string, yield func(agent.Source, error) bool) {
	var held map[string]bool
	for f, err := range files(h) {
		if ctx.Err() != nil {
			return
		}
		if err == nil && held == nil {
			if held, err = heldIn(ctx, databases); err != nil {
				yield(agent.Source{Path: f.storage}, fmt.Errorf("which sessions the database has: %w", err))
				return
			}
		}
		src := agent.Source{Path: f.path}
		if err == nil {
			if held[f.id] {
				continue
			}
			src, err = f.source()
		}
		if !errors.Is(err, fs.ErrNotExist) && !yield(src, err) {
			return
		}
	}
}

// locate returns the session that a file of a tree belongs to.
func locate(h agent.Home, path string) (file, bool) {
	rel, err := filepath.Rel(data(h), path)
	if err != nil || !filepath.IsLocal(rel) || filepath.Ext(rel) != ".json" {
		return file{}, false
	}
	dirs := strings.Split(filepath.ToSlash(rel), "/")
	if len(dirs) > 2 && dirs[0] == "project" {
		dirs = dirs[2:]
	}
	name := strings.TrimSuffix(dirs[len(dirs)-1], ".json")
	session := ""
	switch dirs = dirs[:len(dirs)-1]; {
	case len(dirs) < 3 || dirs[0] != "storage":
	case dirs[1] == "message" && len(dirs) == 3: // message/SESSION/ID.json
		session = dirs[2]
	case dirs[1] == "part" && len(dirs) == 3: // part/MESSAGE/ID.json
		_, _ = readJSON(path, &agent.Decoder{}, func(v agent.Value) { session = v.Text("sessionID") })
	case dirs[1] == "session" && len(dirs) == 3: // session/PROJECT/ID.json, session/info/ID.json
		session = name
	case dirs[1] == "session" && isOld(dirs[2]): // session/message/SESSION/…, session/part/SESSION/…
		session = dirs[3]
	}
	return find(h, session)
}

// find returns the file of a session.
func find(h agent.Home, session string) (file, bool) {
	if session == "" {
		return file{}, false
	}
	for _, t := range trees(h) {
		dirs, _ := t.dirs()
		for _, dir := range dirs {
			f, ok := fileAt(filepath.Join(dir, session+".json"))
			if _, err := os.Stat(f.path); ok && err == nil {
				return f, true
			}
		}
	}
	return file{}, false
}

// recent is how many messages of a session are looked at for changes in place.
const recent = 8

// source describes a session. Its stamp changes when a message comes or goes,
// when one of the last messages is written again, or gets or loses a part, and
// when a part of the very last one is written again. OpenCode touches what is
// older only to say that the model sees it no more. The size is of what was
// looked at.
func (f file) source() (agent.Source, error) {
	src := agent.Source{Path: f.path}
	info, err := os.Stat(f.path)
	if err != nil {
		return src, err
	}
	if !info.Mode().IsRegular() {
		return src, fmt.Errorf("%s is not a regular file", filepath.Base(f.path))
	}
	stamp := fnv.New64a()
	see := func(path string) {
		info, err := os.Stat(path)
		if err != nil {
			return // gone meanwhile, or never there
		}
		fmt.Fprintf(stamp, "%d %d\n", info.Size(), info.ModTime().UnixNano())
		if info.ModTime().After(src.ModTime) {
			src.ModTime = info.ModTime()
		}
		if !info.IsDir() {
			src.Size += info.Size()
		}
	}
	see(f.path)
	messages, err := names(f.messages())
	if err != nil {
		return src, err
	}
	fmt.Fprintf(stamp, "%q\n", messages)
	for i, id := range messages[max(0, len(messages)-recent):] {
		see(filepath.Join(f.messages(), id+".json"))
		see(f.parts(id))
		if i < min(recent, len(messages))-1 {
			continue
		}
		parts, _ := names(f.parts(id)) // the first versions have none
		for _, part := range parts {
			see(filepath.Join(f.parts(id), part+".json"))
		}
	}
	src.Stamp = fmt.Sprintf("%x", stamp.Sum64())
	return src, nil
}
