package edit_test

import (
	"errors"
	"testing"

	"ambry.dev/ambry/internal/edit"
)

// fuzz puts ours into any text and takes it out again. Whatever the text, it is
// refused and stays, or says the same afterwards.
func fuzz(f *testing.F, format edit.Format) {
	for _, text := range files[format] {
		f.Add(text)
	}
	for _, r := range refused {
		if r.format == format {
			f.Add(r.text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		for _, ours := range all {
			after, err := put(t, format, text, ours.at, ours.value)
			if err != nil {
				if !errors.Is(err, edit.ErrSyntax) && !errors.Is(err, edit.ErrShape) {
					t.Fatal(err)
				}
				continue
			}
			if err := edit.Check(format, []byte(after)); err != nil {
				t.Fatalf("it became\n%s\n%v", after, err)
			}
			if has, err := edit.Has(format, []byte(after), ours.at); err != nil || !has {
				t.Fatalf("ours is not in\n%s\n%v", after, err)
			}
			back, err := drop(t, format, after, ours.at, edit.Missing(format, []byte(text), ours.at))
			if err == nil && !edit.SameBut(format, []byte(text), []byte(back), ours.at) {
				t.Fatalf("it became\n%s\nand back\n%s", after, back)
			}
		}
	})
}

func FuzzJSON(f *testing.F)  { fuzz(f, edit.JSON) }
func FuzzJSON5(f *testing.F) { fuzz(f, edit.JSON5) }
func FuzzTOML(f *testing.F)  { fuzz(f, edit.TOML) }
func FuzzYAML(f *testing.F)  { fuzz(f, edit.YAML) }

// FuzzBlock puts a block into any text. Taken out again, the text is what it
// was, but for the line break at its end that a block needs above it.
func FuzzBlock(f *testing.F) {
	for _, text := range []string{"", "\n", "a", "a\n", "a\n\n", "a\r\nb\r\n", "\xef\xbb\xbf", "\xef\xbb\xbfa\n", "<!-- ambry:begin -->\nx\n<!-- ambry:end -->", "<!-- ambry:end -->\n"} {
		f.Add(text, "ours")
	}
	f.Fuzz(func(t *testing.T, text, content string) {
		c, err := edit.Markdown.Put([]byte(text), content)
		if err != nil {
			return
		}
		after := c.Apply([]byte(text))
		if c.Old != "" {
			return // there was one before
		}
		if string(edit.Change{At: c.At, Old: c.New, New: c.Old}.Apply(after)) != text {
			t.Fatalf("the change does not turn back: %+v", c)
		}
		d, err := edit.Markdown.Drop(after)
		if err != nil {
			return // the content has marks of its own
		}
		back := string(d.Apply(after))
		if back != text && back != text+"\n" && back != text+"\r\n" {
			t.Fatalf("%q became %q and back %q", text, after, back)
		}
	})
}
