//go:build unix

package worker

import (
	"reflect"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestSinkKeepsTheNewest(t *testing.T) {
	s, err := OpenSink(t.TempDir())
	must.Do(t, err)
	defer s.Close()
	for _, u := range []struct {
		version int64
		value   []byte
	}{{5, []byte("five\n5")}, {3, []byte("three")}, {5, []byte("five\n5")}, {9, nil}, {7, []byte("seven")}} {
		must.Do(t, s.Upsert("k", "s/0/1", u.version, u.value))
	}
	must.Do(t, s.Upsert("l", "s/0/2", 1, []byte("one\ntwo")))
	rows, err := s.Rows()
	want := map[string]Row{"k": {9, nil}, "l": {1, []byte("one\ntwo")}}
	expect.That(t, err == nil && reflect.DeepEqual(rows, want), "table %v, error %v; want %v", rows, err, want)
	tried, err := s.Tried()
	if want := map[string]int{"s/0/1": 5, "s/0/2": 1}; err != nil || !reflect.DeepEqual(tried, want) {
		t.Errorf("tried %v, error %v; want %v", tried, err, want)
	}
}
