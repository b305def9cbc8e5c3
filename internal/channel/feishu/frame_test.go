package feishu

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"reflect"
	"testing"
)

// example is a frame as it goes over the wire.
func example() frame {
	return frame{
		seq: 300, log: 1<<64 - 1, service: 7, method: data,
		headers:  []header{{"type", "event"}, {"message_id", "m"}, {"sum", "2"}, {"seq", "1"}, {"empty", ""}},
		encoding: "utf-8", kind: "json", payload: []byte(`{"a":1}`), newLog: "l",
	}
}

func TestFramesAreOfProtocolBuffers(t *testing.T) {
	small := frame{seq: 150, service: -1, method: control, headers: []header{{"type", "ping"}}}
	want := "08" + "9601" + "1000" + "18" + "ffffffffffffffffff01" + "2000" + "2a0c" + "0a04" + hex.EncodeToString([]byte("type")) + "1204" + hex.EncodeToString([]byte("ping")) + "3200" + "3a00" + "4200" + "4a00"
	if got := hex.EncodeToString(small.append(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	f := example()
	// Fields that are not known, of each wire type, are passed over.
	more := append([]byte{0x50, 0x01, 0x59, 1, 2, 3, 4, 5, 6, 7, 8, 0x62, 1, 'x', 0x6d, 1, 2, 3, 4}, f.append(nil)...)
	got, err := parse(more)
	if err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestWhatIsNoFrameIsRefused(t *testing.T) {
	whole := example()
	message := whole.append(nil)
	for n := range len(message) {
		if f, err := parse(message[:n]); err == nil && bytes.Equal(f.append(nil), message) {
			t.Errorf("the first %d bytes are taken for all", n)
		}
	}
	for name, broken := range map[string][]byte{
		"tag":      {0x80},
		"field 0":  {0x02, 0x00},
		"group":    {0x0b},
		"length":   {0x42, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"number":   {0x08},
		"overflow": {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"type":     {0x40, 0x01},
		"fixed":    {0x59, 1, 2},
		"header":   {0x2a, 0x02, 0x08, 0x01},
		"headers":  bytes.Repeat([]byte{0x2a, 0x00}, maxHeaders+1),
	} {
		if f, err := parse(broken); err == nil {
			t.Errorf("%s: got %+v", name, f)
		}
	}
}

// part is one of a payload.
func part(id string, sum, seq int, payload string) *frame {
	return &frame{headers: []header{{"message_id", id}, {"sum", fmt.Sprint(sum)}, {"seq", fmt.Sprint(seq)}}, payload: []byte(payload)}
}

func TestPartsAreBoundedAndComeInAnyOrder(t *testing.T) {
	var p parts
	if got, ok := p.add(&frame{payload: []byte("x")}); !ok || string(got) != "x" {
		t.Errorf("got %q, %v", got, ok)
	}
	for _, f := range []*frame{part("a", 3, 2, "c"), part("a", 3, 0, "a"), part("b", 2, 0, "b"), part("a", 3, 0, "a")} {
		if got, ok := p.add(f); ok {
			t.Errorf("got %q", got)
		}
	}
	if got, ok := p.add(part("a", 3, 1, "b")); !ok || string(got) != "abc" {
		t.Errorf("got %q, %v", got, ok)
	}
	for _, f := range []*frame{part("x", 2, 2, "c"), part("x", 2, -1, "c"), part("x", 1<<30, 1, "c"), part("", 2, 1, "c")} {
		if _, ok := p.add(f); ok || len(p.whole) != 1 {
			t.Errorf("%+v is kept", f.headers)
		}
	}
	for n := range 100 {
		p.add(part(fmt.Sprint(n), 2, 0, "x"))
	}
	if len(p.whole) != maxPartial || len(p.order) != maxPartial {
		t.Errorf("%d payloads and %d names are kept", len(p.whole), len(p.order))
	}
	big := string(make([]byte, maxPayload))
	p.add(part("big", 2, 0, big))
	if _, ok := p.add(part("big", 2, 1, "x")); ok {
		t.Error("more than is read is put together")
	}
}

func FuzzFrames(f *testing.F) {
	whole := example()
	f.Add(whole.append(nil))
	f.Add((&frame{method: control, headers: []header{{"type", "pong"}}, payload: []byte(`{"PingInterval":90}`)}).append(nil))
	f.Add([]byte{0x2a, 0x02, 0x0a, 0x00})
	f.Fuzz(func(t *testing.T, message []byte) {
		got, err := parse(message)
		if err != nil {
			return
		}
		again, err := parse(got.append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.payload) == 0 {
			got.payload, again.payload = nil, nil
		}
		if !reflect.DeepEqual(got, again) {
			t.Fatalf("%x is %+v, written and read %+v", message, got, again)
		}
		var p parts
		p.add(&got)
		p.add(&again)
	})
}
