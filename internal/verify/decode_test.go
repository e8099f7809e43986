package verify

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func headerOf(pairs ...string) (all []kgo.RecordHeader) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, kgo.RecordHeader{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return all
}

// S0-8: only a proven replay counts as one. All other headers of a source record have no effect.
func TestAppearance_S0_8(t *testing.T) {
	claims := headerOf(header.KeyDeadLetterID, "0-1-aabbccdd", header.KeyReplayID, "r", header.KeySource, "s/0/1")
	proven := func(*kgo.Record) error { return nil }
	doubt := func(d retrytopics.Doubt) func(*kgo.Record) error {
		return func(*kgo.Record) error { return &retrytopics.DoubtError{Doubt: d, Reason: "x"} }
	}
	for name, c := range map[string]struct {
		headers  []kgo.RecordHeader
		proven   func(*kgo.Record) error
		claim    bool
		doubtful bool
	}{
		"proven":              {claims, proven, true, false},
		"no proof":            {claims, doubt(retrytopics.DoubtMissing), false, false},
		"a wrong proof":       {claims, doubt(retrytopics.DoubtInvalid), false, false},
		"another error":       {claims, func(*kgo.Record) error { return errors.New("x") }, false, false},
		"an unknown key":      {claims, doubt(retrytopics.DoubtUnknownKey), true, true},
		"too large, a proof":  {append(headerOf(header.KeyReplayProof, "1/x/y"), claims...), valueUnread, true, true},
		"too large, no proof": {claims, valueUnread, false, false},
		"no headers":          {nil, proven, false, false},
		"of another topic":    {headerOf(header.KeyReplayID, "r", header.KeySource, "x/0/1"), proven, false, false},
		"a later position":    {headerOf(header.KeyDeadLetterID, "i", header.KeyReplayID, "r", header.KeySource, "s/0/9"), proven, false, false},
		"broken":              {headerOf(header.KeyReplayID, "r", header.KeySource, "///"), proven, false, false},
		"no source":           {headerOf(header.KeyDeadLetterID, "i", header.KeyReplayID, "r"), proven, false, false},
	} {
		a := appearance(&kgo.Record{Topic: "s", Offset: 5, Key: []byte("k"), Headers: c.headers}, 0, c.proven)
		expect.That(t, (a.Claim != nil) == c.claim && (a.Claim == nil || a.Claim.Doubtful == c.doubtful), "%s: %+v", name, a.Claim)
	}
}

func TestFront_S0_4_trustsNoClockBeyondAnHour(t *testing.T) {
	now := time.Unix(1e9, 0)
	f := front{gone: true, until: now.Add(-24 * time.Hour)}
	for came, want := range map[time.Duration]bool{-48 * time.Hour: false, -23*time.Hour - time.Minute: false, -22 * time.Hour: true, 0: true, 2 * time.Hour: false} {
		expect.Equal(t, f.before(now.Add(came), now), want, came)
	}
	f.never = true
	expect.That(t, !f.before(now, now), "unknowable evidence is reported as known")
}

// S4-10: the end of a gap is data of its event. A malformed event counts as none, whatever its message.
func TestAddGap_S4_10(t *testing.T) {
	for event, want := range map[string]int{
		`"last_offset":8`: 1, `"last_offset":2`: 1, `"last_offset":1`: 0, `"last_offset":9223372036854775807`: 0, `"last_offset":-1`: 0, `"last_offset":null`: 0,
		`"message":"s partition 0: offsets 2 to 8 were deleted before they were consumed, at most 7 records"`: 0,
	} {
		a := NewAccount("s", "p", Bounds{Partition: -1}, map[int32]Generation{0: {}})
		a.takeEvent(&kgo.Record{Topic: "a", Value: []byte(`{"time":"2026-11-21T09:30:00Z","pipeline":"p","source":"s/0/2","decision":"lost",` + event + `}`)})
		expect.That(t, len(a.gaps) == want && (want <= 0 || a.gaps[0].from == 2), "%s: %+v", event, a.gaps)
	}
}

// No header or event causes a panic, and the counts always add up.
func FuzzAccount(f *testing.F) {
	f.Add("s/0/1", "p", "0/2", "2;0;0;1", "delivered", "", int64(1))
	f.Add("s/0/9223372036854775807", "q", "9999/10000", "x", "lost", `","last_offset":12,"code":"`, int64(0))
	f.Fuzz(func(t *testing.T, position, pipeline, part, rest, decision, message string, committed int64) {
		a := NewAccount("s", "p", Bounds{Partition: -1}, map[int32]Generation{0: {}})
		headers := headerOf(header.KeySource, position, header.KeyPipeline, pipeline)
		if part != "" {
			headers = append(headers, headerOf(header.KeyPart, part)...)
		}
		if rest != "" {
			headers = append(headers, headerOf(header.KeyRemaining, rest)...)
		}
		for _, in := range PlaceKinds() {
			a.take(in, &kgo.Record{Topic: "x", Headers: headers})
		}
		event := `{"time":"2026-11-21T09:30:00Z","pipeline":"p","source":"` + position + `","decision":"` + decision + `","message":"` + message + `"}`
		a.takeEvent(&kgo.Record{Topic: "a", Value: []byte(event)})
		replay := append(headers, headerOf(header.KeyReplayID, "r", header.KeyDeadLetterID, "i")...)
		a.Source(appearance(&kgo.Record{Topic: "s", Offset: 3, Headers: replay}, 0, func(*kgo.Record) error { return nil }))
		commit := retrytopics.Commit{Offset: committed}
		r := a.Judge(Cut{Marks: map[Spot]Mark{{"s", 0}: {End: 4, Before: commit, After: commit}}}, 5)
		r.wantBalanced(t)
		expect.Do(t, r.Text(&strings.Builder{}))
	})
}
