package main

import (
	"testing"

	"ambry.dev/ambry"
)

func TestAccount(t *testing.T) {
	me := ambry.AccountSession{Authenticated: true, Profile: &ambry.AccountProfile{UserID: "usr_1", Email: "me@example.org", Nickname: "me"}}
	const send, verify = "POST /api/account/send-code", "POST /api/account/verify-code"
	s := fakeService(t, map[string]any{
		send:                       ambry.CodeSent{OK: true, ResendAfterSec: 60},
		verify:                     me,
		"GET /api/account/session": me,
		"POST /api/account/logout": struct{}{},
	})
	ambryWith(t.Context(), t, " 123456\n", "account", "login", "me@example.org", "--locale", "zh", "--home", s.home).check(t, 0, "me@example.org  usr_1")
	ambryIn(t, s.home, "account", "login", "me@example.org", "--code", "654321", "--json").check(t, 0, `"authenticated": true`)
	for route, want := range map[string][]string{
		send: {send + ` {"channel":"email","email":"me@example.org","locale":"zh"}`},
		verify: {
			verify + ` {"channel":"email","email":"me@example.org","verificationCode":"123456"}`,
			verify + ` {"channel":"email","email":"me@example.org","verificationCode":"654321"}`,
		},
	} {
		got := s.sent(route)
		if len(got) != len(want) {
			t.Fatalf("sent %q, want %q", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("sent %s, want %s", got[i], want[i])
			}
		}
	}
	ambryIn(t, s.home, "account", "status").check(t, 0, "me@example.org  usr_1")
	ambryIn(t, s.home, "account", "logout").check(t, 0, "Nobody is logged in.")
}
