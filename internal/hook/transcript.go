package hook

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxTail is how much of the end of a transcript is looked at, in bytes.
const maxTail = 512 << 10

// lastAnswer returns the last text that the agent wrote since a time, from a
// transcript of the kinds that Claude Code, Copilot and Kimi write: one JSON object
// a line. It is "" if there is none, or the file is another kind of thing.
func lastAnswer(path string, since time.Time) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // opening a pipe would wait
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	from := max(info.Size()-maxTail, 0)
	data, err := io.ReadAll(io.NewSectionReader(f, from, maxTail))
	if err != nil {
		return ""
	}
	if from > 0 {
		_, data, _ = bytes.Cut(data, []byte("\n")) // half a line
	}
	return answerIn(data, since)
}

// answerIn is lastAnswer of the lines of a file.
func answerIn(data []byte, since time.Time) string {
	for len(data) > 0 {
		line := data
		if i := bytes.LastIndexByte(bytes.TrimRight(data, "\n"), '\n'); i >= 0 {
			line, data = data[i+1:], data[:i+1]
		} else {
			data = nil
		}
		var l struct {
			Type      string    `json:"type"`
			Sidechain bool      `json:"isSidechain"`
			Timestamp time.Time `json:"timestamp"`
			Time      int64     `json:"time"` // of Kimi, in milliseconds
			Message   struct {
				Content json.RawMessage `json:"content"`
				Message struct {        // of Kimi
					Role    string          `json:"role"`
					Content json.RawMessage `json:"content"`
				} `json:"message"`
			} `json:"message"`
			Data struct { // of Copilot
				Content json.RawMessage `json:"content"`
			} `json:"data"`
		}
		if !bytes.Contains(line, []byte(`"assistant`)) || json.Unmarshal(line, &l) != nil || l.Sidechain {
			continue
		}
		switch {
		case l.Type == "assistant", l.Type == "assistant.message":
		case l.Type == "agent.message.appended" && l.Message.Message.Role == "assistant":
			l.Timestamp, l.Message.Content = time.UnixMilli(l.Time), l.Message.Message.Content
		default:
			continue
		}
		if l.Timestamp.Before(since) {
			return ""
		}
		if text := strings.TrimSpace(textOf(l.Message.Content, 0) + textOf(l.Data.Content, 0)); text != "" {
			return text
		}
	}
	return ""
}

// kimiTranscript returns where Kimi Code writes a session down.
func kimiTranscript(getenv func(string) string, session string) string {
	dir := getenv("KIMI_CODE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".kimi-code")
	}
	found, err := filepath.Glob(filepath.Join(dir, "sessions", "*", session, "agents", "main", "wire.jsonl"))
	if err != nil || len(found) != 1 {
		return ""
	}
	return found[0]
}
