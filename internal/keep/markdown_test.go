package keep

import "testing"

func TestDatesAndPathsAreReadAsTheyStand(t *testing.T) {
	for text, want := range map[string]string{
		"2026-05-01 10:00:00 UTC": "2026-05-01 10:00:00 UTC",
		"/srv/canal, \"nine\"":    "/srv/canal, \"nine\"",
		"1.5 of 2":                "1.5 of 2",
		"https://a.example":       `https\://a\.example`,
		"www.9.example":           `www\.9\.example`,
		"a@b.example":             `a\@b\.example`,
		"[x](y) <b> *c* _d_ `e`":  "\\[x\\]\\(y\\) \\<b\\> \\*c\\* \\_d\\_ \\`e\\`",
	} {
		if got := escape(text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
