package control

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/proof"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Processes that make a key at the same time sign with one, and a later one finds it.
func TestKeys_S4_6_allAgreeOnTheFirst(t *testing.T) {
	kafka := cluster(t)
	var wait sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		wait.Go(func() {
			keys, err := Keys(t.Context(), kafka, "parcels.control", noon)
			if err != nil || len(keys) == 0 {
				t.Errorf("%d keys, %v", len(keys), err)
				return
			}
			got[i] = keys[0].ID()
		})
	}
	wait.Wait()
	again := must.Get(Keys(t.Context(), kafka, "parcels.control", noon))(t)
	for _, id := range got {
		if id != again[0].ID() {
			t.Errorf("one signs with %s, another one with %s", id, again[0].ID())
		}
	}
}

func TestView_S4_6_takesKeysInTheOrderOfTheTopic(t *testing.T) {
	first, second := proof.Random(), proof.Random()
	v := newView()
	for i, k := range []proof.Key{first, second, first} { // written again, it lies behind
		r := must.Get(keyRecord("c", k, noon))(t)
		r.Offset = int64(i)
		must.Do(t, v.apply(r))
	}
	if len(v.Keys) != 2 || v.Keys[0].ID() != second.ID() || !bytes.Equal(v.Keys[1].Reveal(), first.Reveal()) {
		t.Errorf("%d keys, the first is %s", len(v.Keys), v.Keys[0].ID())
	}
	if err := v.apply(&kgo.Record{Key: []byte(replayKeyPrefix + second.ID())}); err != nil || len(v.Keys) != 1 || v.Keys[0].ID() != first.ID() {
		t.Errorf("after a tombstone: %d keys, %v", len(v.Keys), err)
	}
	if text := fmt.Sprintf("%v %+v %#v", v, v, v.Keys); strings.Contains(text, fmt.Sprint(first.Reveal()[:4])[1:10]) {
		t.Errorf("the view shows a key: %s", text)
	}
}

func TestView_refusesABrokenKey(t *testing.T) {
	k := proof.Random()
	whole := must.Get(keyRecord("c", k, noon))(t)
	secret := string(whole.Value)
	for name, c := range map[string]struct {
		id, value string
		newer     bool
	}{
		"no JSON":          {k.ID(), "x" + secret, false},
		"empty":            {k.ID(), "", false},
		"no version":       {k.ID(), strings.Replace(secret, `"version":1`, `"version":0`, 1), false},
		"newer":            {k.ID(), strings.Replace(secret, `"version":1`, `"version":2`, 1), true},
		"another one's id": {proof.Random().ID(), secret, false},
		"short":            {k.ID(), `{"version":1,"key":"AAAA"}`, false},
	} {
		v := newView()
		err := v.apply(&kgo.Record{Topic: "c", Offset: 7, Key: []byte(replayKeyPrefix + c.id), Value: []byte(c.value)})
		if err == nil || errors.Is(err, ErrNewer) != c.newer || !strings.Contains(err.Error(), "c/0/7") || strings.Contains(err.Error(), secret[20:40]) || len(v.Keys) != 0 {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
