package retrytopics

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// S0-4: programs that inspect a commit from outside read what the engine wrote.
func TestParseCommit_S0_4_readsWhatIsCommitted(t *testing.T) {
	t.Parallel()
	w := offsets.NewWindow(5, nil)
	for at := range int64(8) {
		w.Add(5 + at)
	}
	for _, at := range []int64{5, 7, 8, 11} {
		w.Finish(at)
	}
	m := w.Commit()
	c, err := ParseCommit(m.Offset, offsets.Seal(m.Metadata, offsets.Generations{Now: 3}))
	if want := (Commit{Offset: 6, Ahead: []Run{{7, 8}, {11, 11}}, Generation: 3, First: 3}); err != nil || !reflect.DeepEqual(c, want) {
		t.Fatalf("%+v, %v, want %+v", c, err, want)
	}
	for at, want := range map[int64]bool{0: true, 5: true, 6: false, 7: true, 8: true, 9: false, 10: false, 11: true, 12: false} {
		expect.That(t, c.Finished(at) == want, "%d finished: %t", at, !want)
	}
	expect.That(t, !(Commit{Offset: -1}).Finished(0), "without a commit, something is finished")
	c, err = ParseCommit(9, "member-7")
	expect.That(t, err == nil && len(c.Ahead) <= 0, "metadata of other software: %+v, %v", c, err)
	_, err = ParseCommit(9, "d2:")
	expect.That(t, errors.Is(err, ErrNewerMetadata), "metadata of a newer version: %v", err)
}

func FuzzParseCommit(f *testing.F) {
	f.Add(int64(7), offsets.EncodeFinished(7, []offsets.Span{{First: 9, Last: 9}})+"\n")
	f.Add(int64(-1), "d1:////")
	f.Fuzz(func(t *testing.T, offset int64, metadata string) {
		c, err := ParseCommit(offset, metadata)
		if err != nil {
			return
		}
		for _, r := range c.Ahead {
			expect.That(t, c.Finished(r.First) && c.Finished(r.Last), "%+v of %q is not finished", r, metadata)
		}
	})
}

// S0-8, S4-6: of the claims of a source record, only those that are proven and possible are trusted.
func TestFromReplay_S0_8_believesWhatIsProven(t *testing.T) {
	t.Parallel()
	const replay = "dead-letter-id=3-5-aabbccdd replay-id=r1 replay-count=2 content-hash=sha256:00 source-timestamp=2026-07-01T12:00:00.000Z "
	refuses := func(d Doubt) func(*kgo.Record) error {
		return func(*kgo.Record) error { return &DoubtError{d, "so"} }
	}
	for name, c := range map[string]struct {
		headers string
		keyless bool
		today   int                     // generation of the topic
		proven  func(*kgo.Record) error // nil vouches
		doubt   Doubt
		kept    string // of dead letter, replay, source
		force   bool
	}{
		"a replay":                       {headers: replay + "source=t/3/5", kept: "3-5-aabbccdd r1 t/3/5"},
		"forced":                         {headers: replay + "source=t/3/5 force-version=true", kept: "3-5-aabbccdd r1 t/3/5", force: true},
		"forced without a replay id":     {headers: "dead-letter-id=a source=t/3/5 force-version=true", kept: "a  t/3/5"},
		"the record right before":        {headers: replay + "source=t/3/99", kept: "3-5-aabbccdd r1 t/3/99"},
		"its own position":               {headers: replay + "source=t/3/100", doubt: DoubtPosition, kept: "3-5-aabbccdd r1 "},
		"a position to come":             {headers: replay + "source=t/3/9000000000000000000", doubt: DoubtPosition, kept: "3-5-aabbccdd r1 "},
		"another partition":              {headers: replay + "source=t/2/5", doubt: DoubtPosition, kept: "3-5-aabbccdd r1 "},
		"another partition, no key":      {headers: replay + "source=t/2/500", keyless: true, kept: "3-5-aabbccdd r1 t/2/500"},
		"a position to come, no key":     {headers: replay + "source=t/3/500", keyless: true, doubt: DoubtPosition, kept: "3-5-aabbccdd r1 "},
		"before the topic was recreated": {headers: replay + "source=t/3/900 source-generation=1", today: 2, kept: "3-5-aabbccdd r1 t/3/900"},
		"of the topic of today":          {headers: replay + "source=t/3/900 source-generation=2", today: 2, doubt: DoubtPosition, kept: "3-5-aabbccdd r1 "},
		"another topic":                  {headers: replay + "source=u/3/5", doubt: DoubtTopic, kept: "  "},
		"no position":                    {headers: replay, kept: "3-5-aabbccdd r1 "},
		"no proof":                       {headers: replay + "source=t/3/5", proven: refuses(DoubtMissing), doubt: DoubtMissing, kept: "  "},
		"no verification":                {headers: replay + "source=t/3/5", proven: Unproven, doubt: DoubtMissing, kept: "  "},
		"another record's proof":         {headers: replay + "source=t/3/5", proven: refuses(DoubtInvalid), doubt: DoubtInvalid, kept: "  "},
		"an error of its own":            {headers: replay + "source=t/3/5", proven: func(*kgo.Record) error { return errors.New("no") }, doubt: DoubtInvalid, kept: "  "},
		"a dead letter id alone":         {headers: "dead-letter-id=a source=t/3/900", proven: Unproven, doubt: DoubtMissing, kept: "  "},
		"a replay id alone":              {headers: "replay-id=a source=t/3/5", proven: Unproven, doubt: DoubtMissing, kept: "  "},
		"force alone":                    {headers: "force-version=true", proven: Unproven, doubt: DoubtMissing, kept: "  "},
		"proven, without a dead letter":  {headers: "replay-id=a source=t/3/5", kept: "  "},
		"an output of another pipeline":  {headers: "source=t/3/900 content-hash=sha256:00 attempt=3", proven: Unproven, kept: "  "},
	} {
		t.Run(name, func(t *testing.T) {
			raw := &kgo.Record{Topic: "t", Partition: 3, Offset: 100, Key: []byte("k")}
			if c.keyless {
				raw.Key = nil
			}
			for header := range strings.FieldsSeq(c.headers + " lineage=stac:1 care=C1 sovereignty=S1") {
				key, value, _ := strings.Cut(header, "=")
				raw.Headers = append(raw.Headers, kgo.RecordHeader{Key: "switchback-" + key, Value: []byte(value)})
			}
			control := must.Get(header.ParseControl(raw.Headers))(t)
			if c.proven == nil {
				c.proven = TrustProducers
			}
			kept, doubt := Believed(control, raw, c.today, c.proven)
			expect.That(t, (doubt == nil || doubt.Doubt == c.doubt) && (doubt != nil || c.doubt == ""), "doubt %v, want %q", doubt, c.doubt)
			source := ""
			if kept.HasSource {
				source = kept.Source.String()
			}
			expect.Equal(t, fmt.Sprint(kept.DeadLetterID, " ", kept.ReplayID, " ", source), c.kept, "kept")
			at := (header.Position{Topic: "t", Partition: 3, Offset: 100})
			expect.That(t, kept.ForceVersion == c.force && (!c.force || kept.ReplaySource == at && kept.ReplayGeneration == c.today), "force %v from %v in %d", kept.ForceVersion, kept.ReplaySource, kept.ReplayGeneration)
			believed := kept.DeadLetterID != ""
			expect.That(t, (believed || kept.ReplayCount == 0 && kept.ContentHash == "") && kept.SourceTimestamp.IsZero() != (believed && c.doubt == "" && strings.Contains(c.headers, "timestamp")), "kept %+v", kept)
			expect.That(t, kept.Lineage == "stac:1" && kept.Care == "C1" && kept.Sovereignty == "S1", "marks %+v", kept)
		})
	}
}
