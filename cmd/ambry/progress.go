package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"

	"ambry.dev/ambry"
)

// meter shows how a scan goes: one bar for all agents on a terminal, a line for
// each step elsewhere, nothing if programs read.
type meter struct {
	p       *program
	bar     *progressbar.ProgressBar // nil if there is no terminal
	sources map[string]ambry.ScanProgress
}

func (p *program) newMeter() *meter {
	m := &meter{p: p, sources: map[string]ambry.ScanProgress{}}
	if !p.json && terminal(p.err) && p.getenv("TERM") != "dumb" {
		m.bar = progressbar.NewOptions64(-1,
			progressbar.OptionSetWriter(p.err),
			progressbar.OptionSetWidth(24),
			progressbar.OptionSetDescription("reading"),
			progressbar.OptionClearOnFinish(),
		)
	}
	return m
}

func (m *meter) show(s ambry.ScanProgress) {
	before := m.sources[s.SourceID]
	m.sources[s.SourceID] = s
	switch {
	case m.bar != nil:
		m.draw()
	case s.Phase != before.Phase && s.Phase != ambry.PhaseScan:
		m.p.note("%s", progressLine(s))
	}
}

// draw sums up what is known of all agents.
func (m *meter) draw() {
	var current, total int64
	var busy []string
	for _, id := range slices.Sorted(maps.Keys(m.sources)) {
		s := m.sources[id]
		current, total = current+s.Current, total+s.Total
		if s.Phase != ambry.PhaseDone && s.Total > 0 {
			busy = append(busy, id)
		}
	}
	if total == 0 {
		return
	}
	m.bar.Describe(fmt.Sprintf("%s %s of %s", strings.TrimSpace("reading "+strings.Join(busy, ", ")), size(current), size(total)))
	if m.bar.GetMax64() != total {
		m.bar.ChangeMax64(total)
	}
	_ = m.bar.Set64(min(current, total)) // a terminal that is gone shows nothing
}

// end takes the bar away, so that the result stands alone.
func (m *meter) end() {
	if m.bar != nil {
		_ = m.bar.Clear()
		_ = m.bar.Exit()
	}
}

// progressLine says what is done to a source, and how far it is.
func progressLine(s ambry.ScanProgress) string {
	doing := "reading "
	switch s.Phase {
	case ambry.PhaseSummarize:
		doing = "summarizing "
	case ambry.PhaseDone:
		doing = "done with "
	case ambry.PhaseStopped:
		doing = "stopped "
	}
	amount := func(n int64) string {
		if s.Unit == "bytes" {
			return size(n)
		}
		return count(n) + " " + s.Unit
	}
	if s.Total <= 0 {
		return fmt.Sprintf("%s%s, %s", doing, s.SourceID, amount(s.Current))
	}
	return fmt.Sprintf("%s%s, %s of %s", doing, s.SourceID, amount(s.Current), amount(s.Total))
}
