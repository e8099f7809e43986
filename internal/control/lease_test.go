package control

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// A sign of life that a replayer gives after it was taken over from does not bring its lease back.
func TestView_C4_anOlderGenerationOfALeaseCountsForNothing(t *testing.T) {
	v := newView()
	put := func(token string, generation int64, released bool) {
		t.Helper()
		value := must.Get(json.Marshal(leaseWire{Version: version, Token: token, Generation: generation, Since: time.Unix(1, 0), Released: released}))(t)
		must.Do(t, v.apply(&kgo.Record{Key: []byte(leaseKey), Value: value}))
	}
	put("ana", 1, false)
	put("bo", 2, false)
	put("ana", 1, false)
	if v.Lease == nil || v.Lease.Token != "bo" {
		t.Errorf("%v has the lease", v.Lease)
	}
	put("bo", 2, true)
	put("ana", 1, false)
	if v.Lease.Token != "bo" || !v.Lease.Released {
		t.Errorf("%v has the lease", v.Lease)
	}
	put("cy", 3, false)
	if v.Lease.Token != "cy" {
		t.Errorf("%v has the lease", v.Lease)
	}
	for _, broken := range []string{"", "{", "[]", `{"token":7}`} { // it orders nothing: no instance stops for it
		if err := v.apply(&kgo.Record{Key: []byte(leaseKey), Value: []byte(broken)}); err != nil || v.Lease.Token != "cy" {
			t.Errorf("%q: %v, %v", broken, v.Lease, err)
		}
	}
}
