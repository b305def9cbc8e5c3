package main

import (
	"fmt"

	"github.com/schollz/progressbar/v3"

	"ambry.dev/ambry"
)

// meter shows how a scan goes: a bar on a terminal, a line for each step
// elsewhere, nothing if programs read.
type meter struct {
	p      *program
	onTerm bool
	bar    *progressbar.ProgressBar
	step   string // source and phase that are shown
}

func (p *program) newMeter() *meter {
	return &meter{p: p, onTerm: terminal(p.err) && p.getenv("TERM") != "dumb"}
}

func (m *meter) show(s ambry.ScanProgress) {
	step := fmt.Sprintf("%s, %s", s.SourceID, s.Phase)
	changed := step != m.step
	m.step = step
	switch {
	case m.p.json:
	case !m.onTerm:
		if changed {
			m.p.note("%s", progressLine(s))
		}
	default:
		m.draw(s, changed)
	}
}

func (m *meter) draw(s ambry.ScanProgress, changed bool) {
	total := s.Total
	if total <= 0 {
		total = -1 // the bar is a spinner
	}
	if m.bar == nil {
		m.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(m.p.err),
			progressbar.OptionShowBytes(s.Unit == "bytes"),
			progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(24),
			progressbar.OptionClearOnFinish(),
		)
	}
	if changed {
		m.bar.Reset()
		m.bar.Describe(step(s))
	}
	if m.bar.GetMax64() != total {
		m.bar.ChangeMax64(total)
	}
	_ = m.bar.Set64(min(s.Current, max(total, s.Current))) // a terminal that is gone shows nothing
}

// end takes the bar away, so that the result stands alone.
func (m *meter) end() {
	if m.bar != nil {
		_ = m.bar.Clear()
		_ = m.bar.Exit()
	}
}

// step says what is done to which source.
func step(s ambry.ScanProgress) string {
	switch s.Phase {
	case ambry.PhaseAdd:
		return "storing " + s.SourceID
	case ambry.PhaseSummarize:
		return "summarizing " + s.SourceID
	case ambry.PhaseDone:
		return "done with " + s.SourceID
	case ambry.PhaseStopped:
		return "stopped " + s.SourceID
	}
	return "reading " + s.SourceID
}

// progressLine is the step and how far it is.
func progressLine(s ambry.ScanProgress) string {
	amount := func(n int64) string {
		if s.Unit == "bytes" {
			return size(n)
		}
		return count(n) + " " + s.Unit
	}
	if s.Total <= 0 {
		return fmt.Sprintf("%s, %s", step(s), amount(s.Current))
	}
	return fmt.Sprintf("%s, %s of %s", step(s), amount(s.Current), amount(s.Total))
}
