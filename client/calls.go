package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ambry.dev/ambry"
)

// Bootstrap returns what a front end needs at its start. It answers also when
// the memory does not.
func (c *Client) Bootstrap(ctx context.Context) (b ambry.Bootstrap, err error) {
	return b, c.call(ctx, http.MethodGet, "/api/app/bootstrap", nil, nil, &b)
}

// PatchOnboarding changes the onboarding; consent to scan is part of it.
func (c *Client) PatchOnboarding(ctx context.Context, p ambry.OnboardingPatch) (o ambry.Onboarding, err error) {
	return o, c.call(ctx, http.MethodPatch, "/api/app/onboarding", nil, p, &o)
}

// PatchSettings changes the settings of the application.
func (c *Client) PatchSettings(ctx context.Context, p ambry.AppSettingsPatch) (s ambry.AppSettings, err error) {
	return s, c.call(ctx, http.MethodPatch, "/api/app/settings", nil, p, &s)
}

// PatchPrivacy changes what may leave the machine. Once it has returned, that is
// in force.
func (c *Client) PatchPrivacy(ctx context.Context, p ambry.PrivacyPatch) (v ambry.Privacy, err error) {
	return v, c.call(ctx, http.MethodPatch, "/api/app/privacy", nil, p, &v)
}

// PatchScanPreferences changes when histories are read unasked.
func (c *Client) PatchScanPreferences(ctx context.Context, p ambry.ScanPreferencesPatch) (s ambry.ScanPreferences, err error) {
	return s, c.call(ctx, http.MethodPatch, "/api/app/scan-preferences", nil, p, &s)
}

// Sources lists the agents that can be read.
func (c *Client) Sources(ctx context.Context) (s []ambry.AgentSource, err error) {
	return s, c.call(ctx, http.MethodGet, "/api/agent-sources", nil, nil, &s)
}

// AddSource adds a directory with a copy of an agent's history.
func (c *Client) AddSource(ctx context.Context, in ambry.NewSource) (s ambry.AgentSource, err error) {
	return s, c.call(ctx, http.MethodPost, "/api/agent-sources/manual", nil, in, &s)
}

// RemoveSource removes a directory that was added. What was read from it stays.
func (c *Client) RemoveSource(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/api/agent-sources/"+url.PathEscape(id), nil, nil, nil)
}

// Scan starts a scan. The same scan running already is answered with its id;
// another one is [ambry.Conflict].
func (c *Client) Scan(ctx context.Context, r ambry.ScanRequest) (s ambry.ScanStarted, err error) {
	return s, c.call(ctx, http.MethodPost, "/api/agent-sources/scan", nil, r, &s)
}

// ScanStatus says what the scanner is doing, and how the last scan ended.
func (c *Client) ScanStatus(ctx context.Context) (s ambry.ScanStatus, err error) {
	return s, c.call(ctx, http.MethodGet, "/api/agent-sources/scan/status", nil, nil, &s)
}

// StopScan stops the running scan, if there is one, and returns when it has
// ended.
func (c *Client) StopScan(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/api/agent-sources/scan/stop", nil, nil, nil)
}

// InstallSkill writes a part of what there is for an agent into its files, and
// says what that changes. A dry run changes nothing.
func (c *Client) InstallSkill(ctx context.Context, agentID string, part ambry.SkillPart, dryRun bool) (r ambry.SkillResult, err error) {
	return r, c.call(ctx, http.MethodPost, skillPath(agentID, part, dryRun), nil, nil, &r)
}

// RemoveSkill takes a part of it out again.
func (c *Client) RemoveSkill(ctx context.Context, agentID string, part ambry.SkillPart, dryRun bool) (r ambry.SkillResult, err error) {
	return r, c.call(ctx, http.MethodDelete, skillPath(agentID, part, dryRun), nil, nil, &r)
}

func skillPath(agentID string, part ambry.SkillPart, dryRun bool) string {
	path := "/api/agent-sources/" + url.PathEscape(agentID) + "/" + string(part)
	if dryRun {
		path += "?dryRun=true"
	}
	return path
}

// Search asks the memory. No hits means that nothing matches.
func (c *Client) Search(ctx context.Context, q ambry.Query) (a ambry.Answer, err error) {
	return a, c.call(ctx, http.MethodPost, "/api/v1/memory/search", nil, q, &a)
}

// Get returns a memory with its whole text.
func (c *Client) Get(ctx context.Context, id string) (d ambry.Detail, err error) {
	return d, c.call(ctx, http.MethodGet, "/api/v1/memory/"+url.PathEscape(id), nil, nil, &d)
}

// Source returns where a memory came from.
func (c *Client) Source(ctx context.Context, id string) (p ambry.Provenance, err error) {
	return p, c.call(ctx, http.MethodGet, "/api/v1/memory/"+url.PathEscape(id)+"/source", nil, nil, &p)
}

// Add adds a note. The same key with the same note adds it once; an empty key
// promises nothing.
func (c *Client) Add(ctx context.Context, n ambry.Note, key string) (m ambry.Memory, err error) {
	header := http.Header{}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	return m, c.call(ctx, http.MethodPost, "/api/v1/memory/add", header, n, &m)
}

// Forget deletes a memory. The same key asks for it once.
func (c *Client) Forget(ctx context.Context, id, key string) (f ambry.Forgotten, err error) {
	header := http.Header{}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	return f, c.call(ctx, http.MethodDelete, "/api/v1/memory/"+url.PathEscape(id), header, nil, &f)
}

// Sessions returns a page of sessions, newest first.
func (c *Client) Sessions(ctx context.Context, q ambry.SessionsQuery) (s ambry.Sessions, err error) {
	query := url.Values{}
	for name, value := range map[string]string{"sourceAgent": q.Agent, "project": q.Project} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return s, c.call(ctx, http.MethodGet, pageOf("/api/v1/panel/sessions", query, q.Page), nil, nil, &s)
}

// Transcript returns a session with a page of its turns, in order.
func (c *Client) Transcript(ctx context.Context, session string, page int) (t ambry.Transcript, err error) {
	path := "/api/v1/panel/sessions/" + url.PathEscape(session)
	return t, c.call(ctx, http.MethodGet, pageOf(path, url.Values{}, page), nil, nil, &t)
}

// pageOf is the path of a page of a list; the first one needs no number.
func pageOf(path string, query url.Values, page int) string {
	if page > 1 {
		query.Set("page", strconv.Itoa(page))
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// Overview returns the counts of the memory.
func (c *Client) Overview(ctx context.Context) (o ambry.Overview, err error) {
	return o, c.call(ctx, http.MethodGet, "/api/v1/panel/overview", nil, nil, &o)
}

// MemoryHealth says how the memory is, and how far it is with what it has.
func (c *Client) MemoryHealth(ctx context.Context) (h ambry.MemoryHealth, err error) {
	return h, c.call(ctx, http.MethodGet, "/api/v1/health", nil, nil, &h)
}

// The pause between two looks at something that takes a while: short at first,
// since most things are done at once.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = 250 * time.Millisecond
)

// WaitMemory returns when the memory answers. A memory that is starting, or
// being restarted, is waited for until ctx ends; one that keeps failing is
// [ambry.MemoryUnavailable] at once.
func (c *Client) WaitMemory(ctx context.Context) error {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		b, err := c.Bootstrap(ctx)
		switch {
		case err != nil:
			return err
		case b.Health.Memory == ambry.HealthOK:
			return nil
		case b.Health.Memory == ambry.HealthFailed:
			return ambry.MemoryUnavailable.Errorf("the memory keeps failing: %s", b.Health.MemoryReason)
		}
		if err := sleep(ctx, pause); err != nil {
			text := "the memory is " + string(b.Health.Memory)
			if b.Health.MemoryReason != "" {
				text += ": " + b.Health.MemoryReason
			}
			return ambry.MemoryUnavailable.Wrap(err, text)
		}
	}
}

// WaitScan returns how the scan with the given id ended, and meanwhile calls
// report with how far it is. A scan that left no result, because the service was
// restarted or another scan came after it, is [ambry.NotFound].
func (c *Client) WaitScan(ctx context.Context, jobID string, report func(ambry.ScanProgress)) (ambry.ScanCompletion, error) {
	for e, err := range c.Events(ctx, "") {
		if err != nil {
			break // looking now and then does as well
		}
		if e.Type == (ambry.ScanProgress{}).Topic() {
			var p ambry.ScanProgress
			if json.Unmarshal(e.Payload, &p) == nil && p.JobID == jobID {
				report(p)
			}
			continue
		}
		// The first event comes at once, heartbeats come when nothing else does: what
		// happened before the stream began is not missed.
		if done, ended, err := c.scanResult(ctx, jobID); err != nil || ended {
			return done, err
		}
	}
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		if done, ended, err := c.scanResult(ctx, jobID); err != nil || ended {
			return done, err
		}
		if err := sleep(ctx, pause); err != nil {
			return ambry.ScanCompletion{}, err
		}
	}
}

// scanResult looks whether a scan has ended, and how.
func (c *Client) scanResult(ctx context.Context, jobID string) (done ambry.ScanCompletion, ended bool, err error) {
	s, err := c.ScanStatus(ctx)
	switch {
	case err != nil:
		return done, false, err
	case s.Completion != nil && s.Completion.JobID == jobID:
		return *s.Completion, true, nil
	case !s.Active:
		return done, false, ambry.NotFound.Errorf("scan %s left no result", jobID)
	}
	return done, false, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Import stores the conversations that lines holds, one as JSON on each line,
// and tells how many were new. Importing again changes nothing, so after an
// error send the same lines again.
func (c *Client) Import(ctx context.Context, lines io.Reader) (done ambry.Imported, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/api/v1/memory/import", lines)
	if err != nil {
		return done, fmt.Errorf("ask the service: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set(ambry.LocalTokenHeader, c.token)
	resp, err := c.send(req)
	if err != nil {
		return done, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&done); err != nil {
		return done, broken(ctx, "read the answer of the service", err)
	}
	return done, nil
}

// Panel asks for a page of the panel's data, such as "overview" or "items?page=2",
// and decodes it into out, unless that is nil.
func (c *Client) Panel(ctx context.Context, page string, out any) error {
	return c.call(ctx, http.MethodGet, "/api/v1/panel/"+page, nil, nil, out)
}
