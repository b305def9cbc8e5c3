package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"ambry.dev/ambry"
)

// hookTimes is how often a hook is called.
const hookTimes = 200

// hooks measures what an agent waits for: from the start of the process of a
// hook to its end, with what it wrote.
func (b *bench) hooks(ctx context.Context, at string, s *service, w *writer) error {
	permission := ambry.PermissionScan
	if _, err := s.PatchOnboarding(ctx, ambry.OnboardingPatch{ScanPermission: &permission}); err != nil {
		return err
	}
	if err := b.hook(ctx, s.home, at+"hook, prompt", "<= 15, 40", "UserPromptSubmit", w.question); err != nil {
		return err
	}
	if err := b.hook(ctx, s.home, at+"hook, end of a turn", "", "Stop", w.question); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	if err := b.hook(ctx, s.home, at+"hook, prompt, service down", "<= 10", "UserPromptSubmit", w.question); err != nil {
		return err
	}
	return b.hook(ctx, s.home, at+"hook, end of a turn, service down", "<= 10", "Stop", w.question)
}

func (b *bench) hook(ctx context.Context, home, name, goal, event string, words func() string) error {
	session, answered := 0, 0
	var cpu time.Duration
	took, err := repeat(hookTimes, func() error {
		session++
		input, err := json.Marshal(map[string]string{
			"session_id": fmt.Sprint("bench-", session), "cwd": b.work, "prompt": words(), "last_assistant_message": words(),
		})
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, b.binary, "hook", "claude-code", event)
		cmd.Env = []string{"HOME=" + b.work, "AMBRY_HOME=" + home, "PATH=" + os.Getenv("PATH")}
		cmd.Stdin = bytes.NewReader(input)
		out, err := cmd.Output()
		if len(out) > 0 {
			answered++
		}
		if cmd.ProcessState != nil {
			cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.add(name+", p50", ms(quantile(took, .5)), "ms", goal, fmt.Sprintf("p99 %.2f, least %.2f, %.2f CPU-ms, %d of %d answered",
		ms(quantile(took, .99)), ms(quantile(took, 0)), ms(cpu)/hookTimes, answered, hookTimes))
	return nil
}
