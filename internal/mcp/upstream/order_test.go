package upstream

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func TestAnAnswerWaitsForWhatCameBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o order
		r := newLines(strings.NewReader(`{"method":"notifications/progress"}`+"\n"+`{"id":1,"result":{}}`+"\n"), &o)
		read := make(chan string, 10)
		go func() {
			buf := make([]byte, 1000)
			for {
				n, err := r.Read(buf)
				if err != nil {
					close(read)
					return
				}
				read <- string(buf[:n])
			}
		}()
		synctest.Wait()
		if len(read) != 1 {
			t.Fatalf("%d messages were let through before the first was passed on", len(read))
		}
		o.done()
		synctest.Wait()
		if len(read) != 2 {
			t.Fatalf("got %d messages, want both", len(read))
		}
	})
}

func TestWhatIsNeverPassedOnHoldsNothingUpForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o order
		began := time.Now()
		for range 3 { // once is enough to know
			o.read([]byte(`{"method":"notifications/progress","params":7}`))
		}
		for range 3 {
			o.read([]byte(`{"id":1,"result":{}}`))
		}
		if waited := time.Since(began); waited != orderWait {
			t.Errorf("waited %v, want %v", waited, orderWait)
		}
	})
}

func TestALineThatIsTooLongEndsTheReading(t *testing.T) {
	var o order
	_, err := io.Copy(io.Discard, newLines(io.LimitReader(endless{}, 100<<20), &o))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(maxMessage)) {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Whatever an upstream sends, the SDK sees the same bytes.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"id\":1,\"result\":{}}\n{\"method\":\"notifications/message\"}\n"))
	f.Add([]byte("event: message\ndata: {\"id\":1}\n\n"))
	f.Add([]byte("\n\n\xff{\"id\":"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var o order
		o.handled = 1 << 30 // nobody passes anything on here
		got, err := io.ReadAll(newLines(iotest.OneByteReader(bytes.NewReader(data)), &o))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("got %q, %v, want %q", got, err, data)
		}
	})
}

func FuzzBudget(f *testing.F) {
	f.Add("text", 3)
	f.Add("\x1b[31mü", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 0 || size > 1<<20 {
			return
		}
		b := budget(size)
		got := b.take(text)
		if len(got) > size+100 || strings.ContainsRune(got, 0x1b) || b < 0 {
			t.Errorf("%d: %q became %q, %d are left", size, text, got, b)
		}
	})
}
