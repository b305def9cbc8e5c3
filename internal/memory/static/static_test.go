package static

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/model"
)

func cosine(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func embed(t testing.TB, texts ...string) [][]float32 {
	t.Helper()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Embed(t.Context(), texts, model.ForStoring)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLikeMeaningsAreNearAcrossLanguages(t *testing.T) {
	alike := [][]string{
		{"the database migration failed", "数据库迁移失败了", "データベースの移行に失敗しました", "Die Migration der Datenbank ist fehlgeschlagen"},
		{"log in with your password", "用密码登录", "パスワードでログインする", "mit dem Passwort anmelden"},
		{"delete the old branch", "删除旧分支", "古いブランチを削除する", "den alten Branch löschen"},
		{"the page loads too slowly", "页面加载太慢", "ページの読み込みが遅すぎる", "die Seite lädt zu langsam"},
	}
	for i, group := range alike {
		for j, other := range alike {
			if i == j {
				continue
			}
			for k, text := range group[1:] {
				v := embed(t, group[0], text, other[0], other[k+1])
				if near, far := cosine(v[0], v[1]), max(cosine(v[0], v[3]), cosine(v[2], v[1])); near <= far {
					t.Errorf("%q is %.2f from %q, and something else %.2f", group[0], near, text, far)
				}
			}
		}
	}
}

func TestAVectorIsOneLongOrNothing(t *testing.T) {
	v := embed(t, "parse the config file", "", "1234 -- ++", strings.Repeat("很长的文本 and more ", 5000))
	for i, want := range []float64{1, 0, 0, 1} {
		if got := math.Sqrt(cosine(v[i], v[i])); math.Abs(got-want) > 1e-5 {
			t.Errorf("vector %d is %f long, want %f", i, got, want)
		}
	}
}

func TestTheSameTextHasTheSameVector(t *testing.T) {
	v := embed(t, "retry with backoff", "retry with backoff", "RETRY with BackOff")
	if !slices.Equal(v[0], v[1]) {
		t.Error("two vectors of one text differ")
	}
	if cosine(v[0], v[2]) < 0.8 {
		t.Errorf("upper case makes another meaning: %f", cosine(v[0], v[2]))
	}
}

func TestATableThatIsCutShortIsRefused(t *testing.T) {
	for _, n := range []int{0, 7, 8, 19, 20, 100, len(table) - 1} {
		if _, err := parse(table[:n]); err == nil {
			t.Errorf("the first %d bytes were taken", n)
		}
	}
	if _, err := parse(table + "x"); err == nil {
		t.Error("a byte too many was taken")
	}
}

func FuzzEmbed(f *testing.F) {
	for _, s := range []string{"", "getUserByID", "数据库连接池", "Straße ÄÖ İ", "\xff\xfe", "カナかな漢字", strings.Repeat("x", 300), "a\u0301b"} {
		f.Add(s)
	}
	e, err := New()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := e.Embed(t.Context(), []string{text}, model.ForSearching)
		if err != nil {
			t.Fatal(err)
		}
		if n := cosine(v[0], v[0]); n != 0 && math.Abs(n-1) > 1e-4 || math.IsNaN(n) {
			t.Errorf("the vector is %f long", n)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("")
	f.Add(magic)
	f.Add(magic + "\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00a\x00\x00\x80?\x01\x02")
	f.Fuzz(func(t *testing.T, data string) {
		v, err := parse(data)
		if err == nil {
			(&Embedder{vocabulary: v}).vocabulary.sum("a b 数据")
		}
	})
}

func BenchmarkEmbed(b *testing.B) {
	text := strings.Repeat("the checkout page times out when the payment provider retries 数据库连接超时 ", 4)
	e, err := New()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := e.Embed(b.Context(), []string{text}, model.ForStoring); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTheTableIsTheOneThatIsNamed(t *testing.T) {
	sum := sha256.Sum256([]byte(table))
	if got := hex.EncodeToString(sum[:6]); got != digest {
		t.Errorf("the table is another one: write %q into digest", got)
	}
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	words := &e.vocabulary.words
	for row := range words.ends {
		if got, ok := words.row(words.word(row)); !ok || got != row {
			t.Fatalf("%q is in row %d, found %d, %v", words.word(row), row, got, ok)
		}
	}
	if _, ok := words.row("no such word"); ok {
		t.Error("a word is found that is not there")
	}
}

func TestRestChangesNoVector(t *testing.T) {
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"the backup failed", "备份失败"}
	before, err := e.Embed(t.Context(), texts, model.ForStoring)
	if err != nil {
		t.Fatal(err)
	}
	e.Rest()
	after, err := e.Embed(t.Context(), texts, model.ForStoring)
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("another vector after the rest: %v", err)
	}
}
