package account_test

import (
	"net/mail"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/account"
)

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"Me@Example.ORG": "me@example.org", "a@b": "a@b", "a.b+c_d'e@mail-1.example.org": "a.b+c_d'e@mail-1.example.org", "root@localhost": "root@localhost",
	} {
		if got, err := account.Address(in); err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", "a", "@", "a@", "@b", "a@b@c", "a@example.org\r\nBcc: b@example.org", "a@example.org,b@example.org", "a@example.org;b@example.org", "a@example.org\x00",
		"<a@example.org>", "Me <a@example.org>", "a b@example.org", " a@example.org", "a@example.org ", "\"a\r\n\"@example.org", `"a"@example.org`, "a@exam\tple.org",
		"a(b)@example.org", "a@example..org", ".a@example.org", "a.@example.org", "a@.org", "a@-b.org", "a@b-.org", "a@127.0.0.1", "a@[127.0.0.1]", "ä@example.org", "a@bücher.de",
		"а@example.org", "a@b\n", "@a,@b:c@d", "a%b@c\\", strings.Repeat("a", 65) + "@b.org", "a@" + strings.Repeat("b", 64) + ".org", "a@" + strings.Repeat("b.", 130) + "org",
	} {
		if got, err := account.Address(in); ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("%q passes as %q, %v", in, got, err)
		}
	}
}

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"me@example.org", "a@b", "a+b@c.d", "\"x\"@y.z", "a@b\r\nc", "<a@b>", "a@1", "A@B.C"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := account.Address(in)
		if err != nil {
			return
		}
		if again, err := account.Address(got); err != nil || again != got {
			t.Errorf("%q becomes %q, then %q, %v", in, got, again, err)
		}
		parsed, err := mail.ParseAddress(got)
		if err != nil || parsed.Address != got || parsed.Name != "" || strings.ContainsAny(got, "\r\n <>,;\"()\\") {
			t.Errorf("%q is read elsewhere as %+v, %v", got, parsed, err)
		}
	})
}
