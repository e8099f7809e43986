package audit

import (
	"bytes"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func object(text, other string, number int64) *Object {
	o := new(Object)
	o.Text("time", text)
	o.SomeText("b", other)
	o.Number("attempt", number)
	o.Text("a_1", text+other)
	o.SomeText("a", other)
	return o
}

// An object that is chained without being read again has the place that reading it would give.
func FuzzObject(f *testing.F) {
	f.Add("plain", "", int64(0))
	f.Add("<b>&\"\\\u2028\x00\x1f\x7f\t\n\r\b\f/", "é 漢 \U0001F600 \ufffd", int64(-7))
	f.Add("no UTF-8: \xff\xc0\xaf", "\xed\xa0\x80", int64(1)<<53)
	f.Fuzz(func(t *testing.T, text, other string, number int64) {
		number %= 1<<53 + 1
		prev := Link{Seq: 41, Prev: "sha256:00", Hash: "sha256:01"}
		o := object(text, other, number)
		got := prev.NextOf(o)
		entry := bytes.Clone(o.JSON())
		want, err := prev.Next(entry)
		if err != nil || got != want {
			t.Fatalf("%+v, %v, want %+v: %s", got, err, want, entry)
		}
	})
}

func TestObject_keeps_the_order_in_which_it_was_written(t *testing.T) {
	o := object("x", "", 3)
	o.Place("chain", Place{Operators, Link{Seq: 2, Prev: "p", Hash: "h"}})
	if got, want := string(o.JSON()), `{"time":"x","attempt":3,"a_1":"x","chain":{"of":"operators","seq":2,"prev":"p","hash":"h"}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(new(Object).JSON()); got != "{}" {
		t.Errorf("nothing was written: %s", got)
	}
	if got, want := (Link{}).NextOf(new(Object)), linkOf(t, "{}"); got != want {
		t.Errorf("an empty entry: %+v, want %+v", got, want)
	}
}

func linkOf(t *testing.T, entry string) Link {
	t.Helper()
	return must.Get(Link{}.Next([]byte(entry)))(t)
}
