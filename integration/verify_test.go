package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// proof is what `consumer verify records -o json` says.
type proof struct {
	Verdict  string
	Findings []struct{ Kind, Source, Detail string }
	Found    map[string]int64
	All      map[string]int64
	Unknowns []struct {
		Topic, Reason string
		Records       int64
	} `json:"cannot_be_known"`
}

// proves runs the command and wants an exit code and a verdict.
func (p *pipe) proves(t *testing.T, code int, verdict string, args ...string) (said proof) {
	t.Helper()
	r := p.run("consumer", append([]string{"verify", "records", "-c", p.file, "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(r.Stdout), &said); err != nil || r.Code != code || said.Verdict != verdict {
		t.Fatalf("want exit code %d and %s (%v): %s", code, verdict, err, r)
	}
	sum := int64(0)
	for _, where := range []string{"delivered", "dead_lettered", "duplicates", "superseded", "filtered", "waiting", "unread", "in_flight", "unknown", "missing"} {
		sum += said.All[where]
	}
	if sum != said.All["records"] {
		t.Errorf("the equation does not hold: %v", said.All)
	}
	return said
}

// names wants findings of one kind for exactly these source positions.
func (s proof) names(t *testing.T, kind string, sources ...string) {
	t.Helper()
	var named []string
	for _, f := range s.Findings {
		if f.Kind == kind {
			named = append(named, f.Source)
		}
	}
	slices.Sort(named)
	slices.Sort(sources)
	if !slices.Equal(named, sources) || s.Found[kind] != int64(len(sources)) {
		t.Errorf("%s: %d named: %v, want %v; all: %+v", kind, s.Found[kind], named, sources, s.Findings)
	}
}

func positions(records []*kgo.Record) (all []string) {
	for _, r := range records {
		all = append(all, fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset))
	}
	return all
}

// S0-4: while it runs, with retries, dead letters, duplicates and replays, a healthy pipeline is proven every time.
func TestVerify_S0_4_ofAPipelineThatRuns(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute).ensure()
	one, two := p.start("one"), p.start("two")
	output := p.log.Tail(t, p.topics.Output)
	const rounds, n = 6, 120
	for i := range rounds {
		all := ids(fmt.Sprintf("v%d", i), n)
		for k, id := range all {
			switch k % 6 {
			case 1:
				p.failing(1, id)
			case 2:
				p.failing(3, id)
			case 3:
				p.places.Script(id, misbehave.Status(404))
			}
		}
		p.send(all...)
		p.send(all[:10]...) // again
		p.proves(t, 0, "proven")
	}
	output.UntilCount(p.ctx, t, "deliveries", rounds*n/2)
	p.proves(t, 0, "proven")
	p.stop(one)
	p.stop(two)
	p.drain()
	s := p.proves(t, 0, "proven")
	inputs, sum := p.verify().Totals()
	closed := s.All["duplicates"] + s.All["superseded"] + s.All["filtered"]
	if have := []int64{s.All["records"], s.All["delivered"], s.All["dead_lettered"], closed}; inputs != rounds*(n+10) || sum.Letters == 0 ||
		!slices.Equal(have, []int64{int64(inputs), int64(sum.Output), int64(sum.Letters), int64(sum.Closed)}) {
		t.Errorf("%v, the checker of the tests counts %d records in %+v", have, inputs, sum)
	}
	p.replay("--execute", "--reason", "test")
	p.proves(t, 0, "proven")
	p.drain()
	p.proves(t, 0, "proven")
	r := p.run("consumer", "verify", "records", "-c", p.file)
	if r.Code != 0 || !strings.Contains(r.Stdout, "PROVEN: each of 780 records is in exactly one place") {
		t.Errorf("for people: %s", r)
	}
}

// S0-4: records that wait in a former tier which no running instance consumes are named, each of them (as issue 14, point 1, had it).
func TestVerify_S0_4_namesWhatIsStranded(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute, tiers(time.Second, 40*time.Second)).ensure()
	const n = 20
	all := ids("s", n)
	p.failing(2, all...)
	waiting := p.log.Tail(t, p.tier(40*time.Second))
	old := p.start("it")
	sent := p.send(all...)
	waiting.UntilCount(p.ctx, t, "all in the second tier", n)
	p.stop(old)
	p.retier(time.Second, 5*time.Second)
	if s := p.proves(t, 0, "proven"); s.All["waiting"] != n { // nobody runs: they wait
		t.Errorf("%v", s.All)
	}
	member, err := kgo.NewClient(kgo.SeedBrokers(p.set.Brokers...), kgo.ConsumerGroup(p.topics.Group), kgo.DisableAutoCommit(),
		kgo.ConsumeTopics(p.topics.Source, p.tier(time.Second), p.tier(5*time.Second))) // an instance that knows no former tiers
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	p.members(1)
	s := p.proves(t, 4, "violated", "--limit", "100")
	s.names(t, "stranded", positions(sent)...)
	if s := p.proves(t, 4, "violated", "--limit", "3"); len(s.Findings) != 3 || s.Found["stranded"] != n {
		t.Errorf("limit: %+v", s)
	}
}

// S4-10, S0-4: what retention took from the source and from a tier is named, before and after the consumer has passed over it (as issue
// 14, point 7, had it).
func TestVerify_S4_10_namesWhatRetentionTook(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute, tiers(20*time.Second), func(s *settings) { s.Partitions = 1 }).ensure()
	p.send(ids("a", 30)...)
	p.drain()
	p.proves(t, 0, "proven")
	all := ids("t", 12)
	for _, id := range all {
		p.places.Script(id, misbehave.Status(503))
	}
	waiting := p.log.Tail(t, p.topics.Tiers...)
	first := p.start("it")
	sent := p.send(all...)
	waiting.UntilCount(p.ctx, t, "all in the tier", len(all))
	eventually.Until(p.ctx, t, "a committed position in the tier", func() (bool, string) {
		offsets, err := p.log.Committed(p.ctx, p.topics.Group)
		return err == nil && len(offsets[p.topics.Tiers[0]]) == 1, fmt.Sprint(err)
	})
	p.stop(first)
	p.deleteAll(p.topics.Tiers[0])
	s := p.proves(t, 4, "violated")
	s.names(t, "missing", positions(sent)...)
	if s.Found["deleted_while_waiting"] != 1 {
		t.Errorf("%+v", s.Findings)
	}
	p.drain()
	p.proves(t, 4, "violated").names(t, "missing", positions(sent)...)

	unread := p.send(ids("b", 9)...)
	p.deleteAll(p.topics.Source)
	s = p.proves(t, 4, "violated", "--limit", "50")
	s.names(t, "lost", positions(unread[:1])...)
	p.drain()
	p.send("after")
	p.drain()
	s = p.proves(t, 4, "violated", "--limit", "50")
	s.names(t, "lost", positions(unread[:1])...)
	s.names(t, "missing", positions(sent)...) // the source does not hold them any more
}

// S0-4: an output that is deleted by hand hides what was delivered: that is said, and not called missing. One that is put there by hand is
// named, and so is a record that was skipped by a commit.
func TestVerify_S0_4_tellsGoneFromMissingAndDoubled(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute, func(s *settings) { s.Partitions = 1 }).ensure()
	p.failing(1, "a-0")
	p.send(ids("a", 10)...)
	p.drain()
	outputs := p.read(p.topics.Output)
	again := *outputs[3]
	from, _ := headerOf(&again, "switchback-source")
	p.sendRecords(&again, &kgo.Record{Topic: p.topics.Output, Value: []byte("by hand")})
	p.proves(t, 4, "violated").names(t, "duplicated", from)

	skipped := p.send("skipped-0", "skipped-1")
	offsets := kadm.Offsets{}
	offsets.AddOffset(p.topics.Source, 0, skipped[1].Offset+1, -1)
	if err := p.log.Admin().CommitAllOffsets(p.ctx, p.topics.Group, offsets); err != nil {
		t.Fatal(err)
	}
	s := p.proves(t, 4, "violated")
	s.names(t, "missing", positions(skipped)...)
	s.names(t, "duplicated", from)
	s = p.proves(t, 4, "violated", "--partition", "0", "--from", fmt.Sprint(skipped[1].Offset))
	s.names(t, "missing", positions(skipped[1:])...)
	s.names(t, "duplicated")

	p.deleteAll(p.topics.Output)
	s = p.proves(t, 0, "unknown")
	if len(s.Unknowns) != 1 || s.Unknowns[0].Topic != p.topics.Output || s.Unknowns[0].Reason != "retention" || s.All["unknown"] == 0 {
		t.Errorf("%+v", s)
	}
}

func headerOf(r *kgo.Record, key string) (string, bool) {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value), true
		}
	}
	return "", false
}

// S0-4, S4-14: positions of a re-created source are not compared with those of the former one; after the adoption the new ones are proven.
func TestVerify_S4_14_ofARecreatedSource(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute, func(s *settings) { s.Partitions = 1 }).ensure()
	all := ids("f", 12)
	p.send(all...)
	p.drain()
	p.recreateSource()
	var later []*kgo.Record
	for _, id := range all {
		later = append(later, &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(featureAt(id, 4))})
	}
	p.sendRecords(later...)
	if s := p.proves(t, 0, "unknown"); s.All["unknown"] != 12 || s.Unknowns[0].Reason != "recreated" {
		t.Errorf("%+v", s)
	}
	if r := p.run("consumer", "topics", "adopt", "-c", p.file, "--execute"); r.Code != 0 {
		t.Fatalf("adopt: %s", r)
	}
	if s := p.proves(t, 0, "proven"); s.All["unread"] != 12 {
		t.Errorf("%+v", s)
	}
	p.drain()
	if s := p.proves(t, 0, "proven"); s.All["delivered"] != 12 {
		t.Errorf("%+v", s)
	}
	lost := p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte("x"), Value: []byte(feature("x"))})
	offsets := kadm.Offsets{}
	offsets.AddOffset(p.topics.Source, 0, lost[0].Offset+1, -1)
	if err := p.log.Admin().CommitAllOffsets(p.ctx, p.topics.Group, offsets); err != nil {
		t.Fatal(err)
	}
	p.proves(t, 4, "violated").names(t, "missing", positions(lost)...)
}

// S4-14: after a lost state topic was adopted, once and again, what was delivered, waits or is dead before that is found; when the source was
// re-created as well, what its former records became is not taken for that of the new ones.
func TestVerify_S4_14_ofALostStateTopic(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	p := newPipe(t, 3*time.Minute, func(s *settings) { s.Partitions = 1 }).ensure()
	p.send(ids("f", 40)...)
	p.drain()
	adopt := func() {
		for _, args := range [][]string{{"topics", "ensure"}, {"topics", "adopt", "--execute"}} {
			if r := p.run("consumer", append(args, "-c", p.file)...); r.Code != 0 {
				t.Fatalf("%s: %s", args, r)
			}
		}
	}
	for n := 1; n <= 2; n++ {
		if err := p.log.Delete(p.ctx, p.topics.Source+".state"); err != nil {
			t.Fatal(err)
		}
		adopt()
		if s := p.proves(t, 0, "proven"); s.All["delivered"] != int64(30+10*n) {
			t.Errorf("%+v", s)
		}
		p.send(ids(fmt.Sprint("g", n), 10)...)
		p.drain()
		if s := p.proves(t, 0, "proven"); s.All["delivered"] != int64(40+10*n) {
			t.Errorf("%+v", s)
		}
	}
	if err := p.log.Delete(p.ctx, p.topics.Source+".state"); err != nil {
		t.Fatal(err)
	}
	p.recreateSource()
	adopt()
	p.send(ids("h", 5)...)
	if s := p.proves(t, 0, "proven"); s.All["unread"] != 5 {
		t.Errorf("%+v", s)
	}
	p.drain()
	if s := p.proves(t, 0, "proven"); s.All["delivered"] != 5 {
		t.Errorf("%+v", s)
	}
}

// S0-8: headers that a producer forges neither hide a missing record nor accuse a healthy one.
func TestVerify_S0_8_believesNoForgedHeader(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute, func(s *settings) { s.Partitions = 1 }).ensure()
	victim := p.send("victim")[0]
	p.drain()
	for name, proof := range map[string]string{"none": "", "malformed": "1/x", "unknown": "1/" + strings.Repeat("0", 16) + "/" + strings.Repeat("0", 64)} {
		headers := map[string]string{
			"switchback-dead-letter-id": "0-0-aabbccdd", "switchback-replay-id": "r", "switchback-replay-count": "1", "switchback-source": positions([]*kgo.Record{victim})[0],
		}
		if proof != "" {
			headers["switchback-replay-proof"] = proof
		}
		p.sendRecords(p.forged(name, 1, headers), p.forged(name+"-broken", 1, map[string]string{"switchback-attempt": "x", "switchback-source": "///"}))
	}
	p.proves(t, 0, "proven")
	p.drain()
	p.proves(t, 0, "proven")
	out := *p.read(p.topics.Output)[0]
	p.sendRecords(&out)                                          // by hand: the victim is there twice, and
	last := p.sendRecords(p.forged("more", 1, map[string]string{ // a forged replay that was never done would balance it
		"switchback-dead-letter-id": "0-0-aabbccdd", "switchback-replay-id": "r", "switchback-replay-count": "1", "switchback-source": positions([]*kgo.Record{victim})[0],
	}))
	offsets := kadm.Offsets{}
	offsets.AddOffset(p.topics.Source, 0, last[0].Offset+1, -1)
	if err := p.log.Admin().CommitAllOffsets(p.ctx, p.topics.Group, offsets); err != nil {
		t.Fatal(err)
	}
	s := p.proves(t, 4, "violated")
	s.names(t, "duplicated", positions([]*kgo.Record{victim})...)
	s.names(t, "missing", positions(last)...)
}
