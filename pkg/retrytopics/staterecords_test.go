package retrytopics

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

func id(n byte) topicID { return topicID{n} }

func sample() *checkpoint {
	return &checkpoint{
		group: "g", source: "features", generation: 2, same: 1, ledger: id(9), ledgerFrom: 17, scale: "1a2b3c4d", scaleFrom: 5,
		positions: map[string]topicPosition{
			"features":          {id(1), offsets.Commit{Offset: 42, Metadata: offsets.EncodeFinished(42, []offsets.Span{{First: 44, Last: 50}})}},
			"features.retry-2s": {id(2), offsets.Commit{Offset: 7, Metadata: ""}},
			"features.retry-8s": {id(3), offsets.Commit{Offset: -1}},
		},
	}
}

func TestCheckpoint_S4_14_roundTrip(t *testing.T) {
	t.Parallel()
	r, err := sample().record("features.state", 3)
	must.That(t, err == nil && r.Topic == "features.state" && r.Partition == 3 && string(r.Key) == checkpointKey, "record %+v, %v", r, err)
	got, err := decodeCheckpoint(r.Value)
	expect.That(t, err == nil && reflect.DeepEqual(got, sample()), "got %+v, %v", got, err)
	// A version without checkpoints reads it as the state of a key of which nothing waits.
	st, err := decodeState(r.Value, ScaleOffset)
	expect.That(t, err == nil && st == (keyorder.State{}), "as a state: %+v, %v", st, err)
	m, ok, err := ReadRemembered(r.Key, r.Value, ScaleOffset)
	expect.That(t, !ok && !m.Known && err == nil, "as a version: %v, %v", ok, err)
}

func TestCheckpoint_S4_14_refuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value string
		newer bool
	}{
		"nothing":           {``, false},
		"not JSON":          {`{`, false},
		"a state":           {`{"format":1}`, false},
		"a later state":     {`{"format":2,"checkpoint":{"format":1}}`, true},
		"a later form":      {`{"format":1,"checkpoint":{"format":2}}`, true},
		"no form":           {`{"format":1,"checkpoint":{}}`, false},
		"generation":        {`{"format":1,"checkpoint":{"format":1,"generation":-1}}`, false},
		"many generations":  {`{"format":1,"checkpoint":{"format":1,"generation":65}}`, false},
		"same source":       {`{"format":1,"checkpoint":{"format":1,"generation":1,"same_source":2}}`, false},
		"ledger offset":     {`{"format":1,"checkpoint":{"format":1,"ledger_from":-1}}`, false},
		"ledger id":         {`{"format":1,"checkpoint":{"format":1,"ledger":"AA"}}`, false},
		"topic id":          {`{"format":1,"checkpoint":{"format":1,"at":{"t":{"id":"!","offset":1}}}}`, false},
		"offset":            {`{"format":1,"checkpoint":{"format":1,"at":{"t":{"offset":-2}}}}`, false},
		"broken gaps":       {`{"format":1,"checkpoint":{"format":1,"at":{"t":{"offset":2,"ahead":"d1:!"}}}}`, false},
		"gaps of the later": {`{"format":1,"checkpoint":{"format":1,"at":{"t":{"offset":2,"ahead":"d9:"}}}}`, false},
	} {
		cp, err := decodeCheckpoint([]byte(c.value))
		expect.That(t, err != nil && errors.Is(err, ErrNewerState) == c.newer, "%v: got %+v, %v", name, cp, err)
	}
}

// A producer may use any key, the checkpoint's own as well.
func TestStateKey_S4_14_noKeyIsTheCheckpoint(t *testing.T) {
	t.Parallel()
	for _, k := range []string{"", "k", "\x00", checkpointKey, checkpointKey + "k", checkpointKey + checkpointKey, checkpointKey[:5]} {
		got, ok := keyOfState(stateKeyOf(k))
		expect.That(t, ok && got == k, "%q became %q, %v", k, got, ok)
	}
	_, ok := keyOfState([]byte(checkpointKey))
	expect.That(t, !ok, "the checkpoint was taken for a key")
}

func FuzzCheckpoint(f *testing.F) {
	r := must.Get(sample().record("s", 0))(f)
	for _, seed := range []string{string(r.Value), `{"format":1,"checkpoint":{"format":1,"at":{"t":{"offset":2}}}}`, `{"format":1}`, `{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		cp, err := decodeCheckpoint(value)
		if err != nil {
			return
		}
		r := must.Get(cp.record("s", 0))(t)
		again, err := decodeCheckpoint(r.Value)
		must.That(t, err == nil && reflect.DeepEqual(again, cp), "%s became %s: %v", value, r.Value, err)
	})
}

func TestVersionRecord_S0_6_roundTrip(t *testing.T) {
	t.Parallel()
	k := idempotency.HashKey([]byte("k"))
	for _, n := range []Latest{{}, {header.Version{Number: 5, Offset: 3}, 4}, {header.Version{Number: math.MinInt64, Offset: math.MaxInt64}, math.MaxInt64}, {header.Version{Number: math.MaxInt64, Offset: 0}, 0}} {
		r := encodeVersion("s", 2, k, &n, "1a2b3c4d")
		_, fast := scanVersion(string(r.Value))
		expect.That(t, fast, "%s is not read without package json", r.Value)
		m, ok, err := ReadRemembered(r.Key, r.Value, "1a2b3c4d")
		expect.That(t, err == nil && ok && m.Lasting && m.Known && m.Key == k && m.Newest == n && r.Partition == 2, "%s: %+v, %t, %v", r.Value, m, ok, err)
		expect.That(t, len(r.Key)+len(r.Value) <= 180, "it takes %d bytes", len(r.Key)+len(r.Value))
	}
	gone := encodeVersion("s", 2, k, nil, "")
	m, ok, err := ReadRemembered(gone.Key, gone.Value, "x")
	expect.That(t, err == nil && ok && m.Lasting && !m.Known && gone.Value == nil, "a version that is forgotten: %+v, %t, %v", m, ok, err)
}

func TestVersionRecord_whatNobodyWroteIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{}", "[]", `{"format":1}x`, `{"format":0,"version":[1,2,3]}`, `{"format":1,"version":[1,-2,3],"scale":"x"}`, `{"format":1,"version":[1,2,-3],"scale":"x"}`,
		`{"format":1,"version":[9223372036854775808,2,3],"scale":"x"}`, `{"format":1,"version":[1,2.5,3],"scale":"x"}`, `{"format":1,"version":[1,2,3],"scale":"x"}}`,
		`{"format":1,"version":[1,,3],"scale":"x"}`, `{"format":1,"version":[1,2,3,],"scale":"x"}`, strings.Repeat("[", 100_000),
	} {
		n, err := decodeVersion([]byte(text), "x")
		expect.That(t, err != nil, "%.60s: read as %v", text, n)
	}
	_, err := decodeVersion([]byte(`{"format":2,"version":[1,2,3,4]}`), "x")
	expect.That(t, errors.Is(err, ErrNewerState), "a later form: %v", err)
	n, err := decodeVersion([]byte(`{ "version": [1, 2, 3], "format": 1, "more": true }`), "x")
	expect.That(t, err == nil && n == (Latest{header.Version{Number: 1, Offset: 2}, 3}), "the same in other words: %v, %v", n, err)
}

// A producer chooses the keys of features. None of them is taken for a version, and none of a version's for a feature's.
func TestVersionRecord_noKeyOfAFeatureIsAVersion(t *testing.T) {
	t.Parallel()
	version := string(encodeVersion("s", 0, idempotency.HashKey([]byte("k")), nil, "").Key)
	for _, k := range []string{version, version[:len(version)-1], version + "x", versionKey, checkpointKey, "v" + version, ""} {
		stored := stateKeyOf(k)
		_, ok := hashOfVersion(stored)
		expect.That(t, !ok, "the state of key %q has the key of a version", k)
		back, ok := keyOfState(stored)
		expect.That(t, ok && back == k, "%q is read as %q, %t", k, back, ok)
	}
	_, ok := hashOfVersion([]byte(version))
	expect.That(t, ok, "a version is not known by its key")
}

func TestStateRecord_S0_6_versionsOfAnotherScaleCountByTheirOffset(t *testing.T) {
	t.Parallel()
	st := keyorder.State{Waiting: 1, Applied: &header.Version{Number: 1000, Offset: 7}, Deleted: 3}
	r := must.Get(encodeState("s", 0, "k", st, "a"))(t)
	for scale, want := range map[Scale]Latest{"a": {header.Version{Number: 1000, Offset: 7}, 3}, "b": {header.Version{Number: math.MinInt64, Offset: 7}, 8}} {
		m, ok, err := ReadRemembered(r.Key, r.Value, scale)
		expect.That(t, err == nil && ok && !m.Lasting && m.Known && m.Newest == want && m.Key == idempotency.HashKey([]byte("k")), "on scale %s: %+v, %t, %v", scale, m, ok, err)
	}
	m, ok, err := ReadRemembered([]byte(checkpointKey), []byte("{}"), "a")
	expect.That(t, !ok && err == nil && !m.Known, "a checkpoint is about no key: %+v, %v", m, err)
}

// What is remembered of a key is all of it.
func TestKeyState_S3_1_isReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, st := range []keyorder.State{
		{Next: 2, Last: 5, Tier: 1, Due: due, Waiting: 3, DeadLetters: 2, Applied: &header.Version{Number: -7, Offset: 40}, Deleted: 9},
		{Next: 1, Held: "L", HeldParts: "1-3,17", HeldRemaining: true},
	} {
		r := must.Get(encodeState("s", 0, "k", st, ScaleOffset))(t)
		got := must.Get(decodeState(r.Value, ScaleOffset))(t)
		expect.That(t, reflect.DeepEqual(got, st), "%s was read as %+v", r.Value, got)
	}
	for _, text := range []string{`{"format":2}`, `{"format":1,"held":"L","held_parts":"3-1"}`, `{"format":1,"held":"L","held_parts":"x"}`, `{"format":1,"last":-1}`} {
		st, err := decodeState([]byte(text), ScaleOffset)
		expect.That(t, err != nil, "%s was read as %+v", text, st)
	}
}

// S0-4: what is read of a commit from outside is what the engine wrote.
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

// S0-4: checkpoints are read as the engine wrote them; other records of the state topic are none.
func TestParseCheckpoint_S0_4(t *testing.T) {
	t.Parallel()
	id := topicID{1, 2}
	cp := checkpoint{group: "g", source: "s", generation: 2, positions: map[string]topicPosition{"s": {id, offsets.Commit{Offset: 7, Metadata: offsets.EncodeFinished(7, []offsets.Span{{First: 9, Last: 9}})}}}}
	r := must.Get(cp.record("state", 0))(t)
	got, ok, err := ParseCheckpoint(r)
	want := Checkpoint{Group: "g", Source: "s", Generation: 2, First: 2, Positions: map[string]TopicCommit{"s": {id, Commit{Offset: 7, Ahead: []Run{{9, 9}}}}}}
	expect.That(t, err == nil && ok && reflect.DeepEqual(got, want), "%+v, %t, %v", got, ok, err)
	for _, other := range []*kgo.Record{{Key: []byte("k"), Value: r.Value}, {Key: r.Key}, {}} {
		_, ok, err := ParseCheckpoint(other)
		expect.That(t, !ok && err == nil, "%q: %t, %v", other.Key, ok, err)
	}
	_, _, err = ParseCheckpoint(&kgo.Record{Key: r.Key, Value: []byte("{")})
	expect.That(t, err != nil, "a broken checkpoint is read")
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

// S0-8, S4-6: of what a record of the source topic claims, only what is proven and can be true is kept.
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
			kept, doubt := fromReplay(control, raw, c.today, c.proven)
			expect.That(t, (doubt == nil || doubt.Doubt == c.doubt) && (doubt != nil || c.doubt == ""), "doubt %v, want %q", doubt, c.doubt)
			source := ""
			if kept.HasSource {
				source = kept.Source.String()
			}
			expect.Equal(t, fmt.Sprint(kept.DeadLetterID, " ", kept.ReplayID, " ", source), c.kept, "kept")
			at := (header.Position{Topic: "t", Partition: 3, Offset: 100})
			expect.That(t, kept.ForceVersion == c.force && (!c.force || kept.ReplaySource == at), "force %v from %v", kept.ForceVersion, kept.ReplaySource)
			believed := kept.DeadLetterID != ""
			expect.That(t, (believed || kept.ReplayCount == 0 && kept.ContentHash == "") && kept.SourceTimestamp.IsZero() != (believed && c.doubt == "" && strings.Contains(c.headers, "timestamp")), "kept %+v", kept)
			expect.That(t, marksOf(&kept) == (Marks{"stac:1", "C1", "S1"}), "marks %+v", marksOf(&kept))
		})
	}
}

// A hostile producer fills no log: of each doubt one line in ten seconds, and the next says how many were left out.
func TestDoubts_S0_7_areCountedAndLoggedNowAndThen(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	log, now := slog.New(slog.NewTextHandler(&text, nil)), time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	var d doubts
	at := header.Position{Topic: "features", Partition: 3, Offset: 41}
	for range 5 {
		d.note(log, at, &DoubtError{DoubtMissing, "no header"}, now)
	}
	d.note(log, at, &DoubtError{DoubtInvalid, "changed"}, now)
	d.note(log, at, &DoubtError{DoubtMissing, "no header"}, now.Add(doubtPause))
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `topic=features partition=3 offset=41 reason=missing error="no header" not_logged=0`) ||
		!strings.Contains(lines[1], "reason=invalid") || !strings.Contains(lines[2], "not_logged=4") {
		t.Errorf("logged\n%s", text.String())
	}
	got := d.snapshot()
	expect.That(t, got[DoubtMissing] == 6 && got[DoubtInvalid] == 1 && len(got) == len(Doubts()), "counted %v", got)
}
