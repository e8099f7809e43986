package main

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

const paymentsDLT = "payments.DLT"

// produced is when the records were produced that died.
var produced = start.Add(-2 * time.Hour)

// payments is a desk with a DLQ of Spring Kafka, its origin of three partitions, and no pipeline file. It gives the flags that name the DLQ.
func payments(t *testing.T, terminal bool) (*desk, []string) {
	t.Helper()
	golden := must.Get(os.ReadFile("../../internal/dialects/testdata/spring.json"))(t)
	d := newDesk(t, terminal)
	d.spring = springHeaders(t, golden)
	must.Do(t, os.Remove(d.file("pipeline.yaml")))
	d.topic(3, "payments")
	d.topic(2, paymentsDLT)
	return d, []string{"--brokers", d.brokers()[0], "--topic", paymentsDLT}
}

// springHeaders are those that Spring Kafka itself wrote (see internal/dialects).
func springHeaders(t *testing.T, text []byte) (out []kgo.RecordHeader) {
	t.Helper()
	var golden struct {
		Headers []struct {
			Key, Text string
			Base64    []byte
		}
	}
	must.Do(t, json.Unmarshal(text, &golden))
	for _, h := range golden.Headers {
		out = append(out, kgo.RecordHeader{Key: h.Key, Value: append(h.Base64, h.Text...)})
	}
	return out
}

// topic creates a topic; the settings are names and values in turn.
func (d *desk) topic(partitions int32, name string, settings ...string) {
	d.t.Helper()
	configs := map[string]*string{}
	for i := 0; i < len(settings); i += 2 {
		configs[settings[i]] = &settings[i+1]
	}
	must.Get(kadm.NewClient(d.writer).CreateTopic(d.t.Context(), partitions, 1, configs, name))(d.t)
}

// died is a dead letter as Spring Kafka writes it, of a record that lay in a topic.
func (d *desk) died(topic string, partition int32, offset int64, key, value string) *kgo.Record {
	r := &kgo.Record{Topic: paymentsDLT, Partition: partition % 2, Key: []byte(key), Value: []byte(value), Timestamp: start.Add(-time.Hour)}
	for _, h := range d.spring {
		switch h.Key {
		case "kafka_dlt-original-topic":
			h.Value = []byte(topic)
		case "kafka_dlt-original-partition":
			h.Value = binary.BigEndian.AppendUint32(nil, uint32(partition))
		case "kafka_dlt-original-offset":
			h.Value = binary.BigEndian.AppendUint64(nil, uint64(offset))
		case "kafka_dlt-original-timestamp":
			h.Value = binary.BigEndian.AppendUint64(nil, uint64(produced.UnixMilli()))
		}
		r.Headers = append(r.Headers, h)
	}
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: "traceparent", Value: []byte("00-" + key)})
	return r
}

// read gives what a reader with read_committed sees.
func (d *desk) read(topic string) []*kgo.Record {
	d.t.Helper()
	return must.Get(topiclog.Connect(d.t, d.brokers()).Read(d.t.Context(), topic))(d.t)
}

func with(at []string, args ...string) []string { return append(slices.Clone(args), at...) }

// Dead letters that Spring Kafka wrote go back to topic, partition and key that they came from, with the producer's headers and none of
// Spring's, each once, without a pipeline. Each command that is printed leads to the next, also where their number has to be named.
func TestAnyDLQ_C4_putsEachBackToItsOriginOnce(t *testing.T) {
	d, at := payments(t, false)
	const n = replay.ManyLetters + 2
	for i := range n {
		d.put(d.died("payments", int32(i%3), int64(i), fmt.Sprintf("k%d", i), fmt.Sprintf(`{"amount":%d}`, i)))
	}
	before := d.topics()
	d.want(cli.ExitRuntime, "list", "--brokers", at[1], "--topic", "payment.DLT").says("topic does not exist: payment.DLT", "The cluster has features.dlq, ", "payments.DLT")
	d.want(cli.ExitRefused, with(at, "replay", "--all", "--expect", "102", "--execute", "--reason", "fixed")...).says("are not confirmed", "--expect 102 --origin payments --execute --reason fixed")
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--reason", "fixed", "--replay-id", "r1")...).says("102 to put back (payments: 102)", "--expect 102 --replay-id r1 --origin payments")
	d.want(cli.ExitRefused, with(at, "replay", "--all", "--expect", "7", "--origin", "payments", "--execute", "--reason", "x")...).
		says("payments.DLT.replayer-status", "--all --expect 7 --origin payments --execute --reason x --create-topics") // before it counts
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--reason", "fixed", "--replay-id", "r1")...)
	d.follow(cli.ExitRefused)
	d.says("payments.DLT.replayer-status", "replayer acls --brokers", "--create-topics")
	d.unchanged(before)
	d.follow(cli.ExitDone)
	d.want(cli.ExitNothing, with(at, "replay")...)
	sent := d.read("payments")
	must.That(t, len(sent) == n, "%d records were put back, want %d", len(sent), n)
	for _, r := range sent {
		var i int
		must.Get(fmt.Sscanf(string(r.Key), "k%d", &i))(t)
		expect.That(t, r.Partition == int32(i%3) && string(r.Value) == fmt.Sprintf(`{"amount":%d}`, i), "%s in partition %d: %s", r.Key, r.Partition, r.Value)
		for _, h := range r.Headers {
			expect.That(t, !strings.HasPrefix(h.Key, "kafka_"), "%s has Spring's header %s", r.Key, h.Key)
		}
		trace, _ := topiclog.Header(r, "traceparent")
		count, _ := topiclog.Header(r, header.KeyReplayCount)
		expect.That(t, trace == "00-"+string(r.Key) && count == "1", "%s has the producer's header %q and replay count %q", r.Key, trace, count)
	}
	d.want(cli.ExitDone, with(at, "list", "--status", "discarded")...).counts(n, "\n")
	d.want(cli.ExitDone, with(at, "replays", "r1", "-o", "json")...).prints(`"elsewhere": 102`)
	d.want(cli.ExitDone, with(at, "audit", "--operation", "r1")...).counts(n, `"decision":"replayed"`)
}

// A wrapper hides what went wrong: groups and show say the innermost cause, and what it quotes makes no group of its own. Spring's binary
// numbers are numbers.
func TestAnyDLQ_S4_7_theInnermostCause(t *testing.T) {
	d, at := payments(t, false)
	for i, cause := range []string{`No constant "OPEN"`, `No constant "SHUT"`, "amount is below 0"} {
		r := d.died("payments", 0, 104+int64(i), fmt.Sprint("k", i), fmt.Sprint(i))
		for j := range r.Headers {
			if r.Headers[j].Key == "kafka_dlt-exception-stacktrace" {
				r.Headers[j].Value = []byte("a.Wrapper: payment\n\tat a.B.c(B.java:1)\nCaused by: a.Middle\nCaused by: a.Root: " + cause + "\x1b[31m\n\t... 3 more\n")
			}
		}
		d.put(r)
	}
	d.want(cli.ExitDone, with(at, "groups", "-o", "table")...).said("3 dead letters in 2 groups", `caused by a.Root: No constant "SHUT"`, "caused by a.Root: amount is below 0").hides("\x1b", "OPEN")
	d.want(cli.ExitDone, with(at, "groups", "-o", "json")...).prints(`"caused_by":"a.Root: amount is below 0`, `caused by a.Root: No constant \"…\"`)
	d.want(cli.ExitDone, with(at, "show", "dlq-0-0", "-o", "table")...).prints(`  caused by      a.Root: No constant "OPEN"`,
		"kafka_dlt-original-partition: 0\n", "kafka_dlt-original-offset: 104\n", fmt.Sprintf("kafka_dlt-original-timestamp: %d (2026-11-03T02:05:06.000Z)", produced.UnixMilli()), "kafka_deliveryAttempt: 3\n")
	d.want(cli.ExitDone, with(at, "show", "dlq-0-0", "-o", "json")...).prints(`"caused_by": "a.Root: No constant`, `"number": 104`)
}

// What was put back, and did not die again, goes back a second time only if that was said in so many words.
func TestAnyDLQ_C4_reopensWhatWasPutBackOnlyByAWord(t *testing.T) {
	d, at := payments(t, false)
	d.put(d.died("payments", 0, 1, "a", "1"), d.died("payments", 0, 2, "b", "2"), d.died("payments", 0, 3, "c", "3"))
	back := with(at, "replay", "--all", "--origin", "payments", "--execute", "--reason", "fixed", "--create-topics")
	d.want(cli.ExitDone, back...)
	again := d.died("payments", 0, 4, "a", "1")
	again.Headers = append(again.Headers, d.read("payments")[0].Headers...)
	d.put(again)
	d.want(cli.ExitDone, with(at, "stats", "-o", "table")...).prints("  pending        1\n", "  put back       2\n").hides("  discarded")
	d.want(cli.ExitDone, with(at, "groups", "-o", "table")...).prints("\n       2 put back\n", "      1         3          0  ")
	d.want(cli.ExitDone, with(at, "list", "-o", "table", "--status", "discarded")...).counts(2, "  put back  ")
	d.want(cli.ExitDone, with(at, "show", "dlq-0-1", "-o", "table")...).prints("  status         put back since ")
	const told = "2 of these were already put back into payments, and none of them is known to have died again: after reopening, a replay sends them a second time"
	d.want(cli.ExitRefused, with(at, "reopen", "--all")...).says(told, "Without --including-put-back").prints(`"put_back":2`)
	d.want(cli.ExitPartly, with(at, "reopen", "--all", "--execute", "--reason", "x")...).prints(`"left":2`, "it was already put back into payments at ")
	d.want(cli.ExitRefused, with(at, "replay", "--id", "dlq-0-1")...).prints("replayer reopen --including-put-back")
	reopen := with(at, "reopen", "--all", "--including-put-back", "--reason", "x")
	d.want(cli.ExitRefused, reopen...).says(told+".\n", " --including-put-back --all --execute")
	d.want(cli.ExitDone, append(reopen, "--execute")...).prints(`"changed":2`)
	d.want(cli.ExitRefused, with(at, "replay", "--all")...).says("warning: 2 of those to put back were put back before").prints(`"reopened":true`)
	d.want(cli.ExitDone, back...)
	expect.Equal(t, len(d.read("payments")), 6, "records put back")
}

// What was put back long ago leaves a DLQ without a pipeline and its states. A dead letter that is still open keeps what lies behind it. One
// that dies again after that is open.
func TestAnyDLQ_C4_prune(t *testing.T) {
	d, at := payments(t, false)
	older := with(at, "prune", "--older-than", "1h", "-o", "json")
	d.want(cli.ExitNothing, older...)
	d.want(cli.ExitDone, with(at, "prune", "--older-than", "1h", "--execute", "--reason", "monthly")...)
	for i := range 4 {
		d.put(d.died("payments", 0, int64(i), fmt.Sprint("k", i), fmt.Sprint(i)))
	}
	d.want(cli.ExitDone, with(at, "replay", "--id", "dlq-0-0", "--id", "dlq-0-1", "--id", "dlq-0-3", "--origin", "payments", "--execute", "--reason", "x", "--create-topics")...)
	d.want(cli.ExitNothing, older...)
	d.env.Now = func() time.Time { return start.Add(2 * time.Hour) }
	d.want(cli.ExitRefused, older...).said(`"records": 2`, `"kept": 1`, `"id": "dlq-0-2"`, "replayer prune --brokers "+at[1]+" --topic payments.DLT --older-than")
	d.want(cli.ExitDone, append(older, "--execute", "--reason", "monthly")...).said(`"dead_letters": 2`)
	d.want(cli.ExitDone, with(at, "list", "-o", "table")...).hides("dlq-0-0", "dlq-0-1").prints("dlq-0-2", "dlq-0-3")
	dies := d.died("payments", 0, 4, "k0", "0")
	dies.Headers = append(dies.Headers, d.read("payments")[0].Headers...)
	d.put(dies)
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--id", "dlq-0-0")...).said("1 to put back (payments: 1)")
}

// What headers name is input: nothing goes to a topic that no dead letter can have come from, and --to takes what is left.
func TestAnyDLQ_C4_hostileOrigins(t *testing.T) {
	d, at := payments(t, false)
	d.topic(1, "by-hand")
	d.topic(1, "__consumer_offsets")
	for i, origin := range []string{paymentsDLT, "payments.DLT.replayer-status", "__consumer_offsets", "no/such name", "..", "nowhere", "", strings.Repeat("x", 300)} {
		d.put(d.died(origin, 0, int64(i), fmt.Sprint("k", i), fmt.Sprint("v", i)))
	}
	plain := &kgo.Record{Topic: paymentsDLT, Key: []byte("plain"), Value: []byte("p"), Timestamp: start}
	own := d.died("payments", 0, 50, "own", "o")
	own.Headers = header.Control{ErrorCode: "geometry_invalid", DeadLetterID: "0-1-x"}.AppendTo(nil)
	d.put(plain, own)
	before := d.topics()
	d.want(cli.ExitRefused, with(at, "replay")...)
	d.prints(
		"it is the DLQ itself", "the replayer keeps its states of this DLQ there", "it is an internal topic of Kafka", "it is not a topic name", "there is no such topic",
		"no header names the topic that it came from: name a topic with --to", "a Switchback pipeline wrote it",
	)
	d.want(cli.ExitNothing, with(at, "replay", "--all", "--execute", "--reason", "x", "--create-topics")...)
	for words, to := range map[string]string{
		"it is the DLQ itself": paymentsDLT, "there is no such topic": "nowhere", "it is not a topic name": "a b", "keeps its states of this DLQ there": paymentsDLT + ".replayer-audit",
		"it is an internal topic": "__consumer_offsets",
	} {
		d.want(cli.ExitUsage, with(at, "replay", "--to", to)...).says(words)
	}
	d.unchanged(before)
	d.want(cli.ExitPartly, with(at, "replay", "--status", "pending", "--all", "--to", "by-hand", "--execute", "--reason", "x", "--create-topics")...)
	expect.Equal(t, len(d.read("by-hand")), 9, "records sent")
	d.want(cli.ExitNothing, with(at, "replay", "--all", "--to", "by-hand", "--execute", "--reason", "x")...)
	d.want(cli.ExitDone, with(at, "list", "--status", "discarded")...)
	for line := range strings.Lines(d.out.String()) {
		expect.That(t, !strings.Contains(line, string(deadletters.Pending)) && !strings.Contains(line, "cannot be read"), "%s", line)
	}
}

// What is not known to have come from a named origin stays, a partition that is gone is chosen by the key, and a compacted topic takes no
// record without a key.
func TestAnyDLQ_C4_whereADeadLetterGoes(t *testing.T) {
	d, at := payments(t, false)
	compact := "compact"
	must.Get(kadm.NewClient(d.writer).CreateTopic(t.Context(), 1, 1, map[string]*string{"cleanup.policy": &compact}, "balances"))(t)
	keyless := d.died("balances", 0, 1, "", "1")
	keyless.Key = nil
	d.put(d.died("payments", 9, 1, "k9", "9"), d.died("balances", 0, 2, "k", "2"), keyless)
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table")...).said("(balances: 1, payments: 1)", "Kafka refuses records without a key there")
	d.want(cli.ExitPartly, with(at, "replay", "--all", "--origin", "payments", "--execute", "--reason", "x", "--create-topics")...).prints("which --origin does not name")
	expect.Equal(t, [2]int{len(d.read("payments")), len(d.read("balances"))}, [2]int{1, 0}, "records put back")
}

// Headers of ours that another DLQ left on a record name no letter of this one.
func TestAnyDLQ_C4_theIdsOfAnotherDLQAreNotTakenOver(t *testing.T) {
	d, at := payments(t, false)
	first, second := d.died("payments", 0, 1, "a", "1"), d.died("payments", 0, 2, "b", "2")
	second.Headers = append(header.Control{DeadLetterID: deadletters.IDIn("orders.DLT", "dlq-0-0"), ReplayID: "r", ReplayCount: 1}.AppendTo(nil), second.Headers...)
	d.put(first, second)
	d.want(cli.ExitDone, with(at, "replay", "--all", "--origin", "payments", "--execute", "--reason", "x", "--create-topics")...)
	expect.Equal(t, len(d.read("payments")), 2, "records put back")
}

func value(topic, key, value string) *kgo.Record {
	r := &kgo.Record{Topic: topic, Key: []byte(key), Timestamp: start.Add(-time.Minute)}
	if value != "" {
		r.Value = []byte(value)
	}
	return r
}

// values gives the newest value of each key that a topic has, as a reader of a compacted topic sees it.
func (d *desk) values(topic string) map[string]string {
	out := map[string]string{}
	for _, r := range d.read(topic) {
		out[string(r.Key)] = string(r.Value)
	}
	return out
}

// What a compacted topic knows better than a dead letter stays: the plan lists it, the execution looks again, and only --force-version
// sends it all the same.
func TestSafety_C4_newerValuesOfACompactedTopic(t *testing.T) {
	d, at := payments(t, false)
	d.topic(2, "balances", "cleanup.policy", "compact")
	d.put(value("balances", "changed", "1"), value("balances", "deleted", "1"), value("balances", "still", "1"), value("balances", "later", "1"),
		value("balances", "changed", "2"), value("balances", "deleted", ""))
	for i, key := range []string{"changed", "deleted", "still", "later"} {
		d.put(d.died("balances", 0, int64(i), key, "fixed"))
	}
	forged := d.died("balances", 0, 1<<40, "changed", "forged") // nothing can have lain there
	d.put(forged)
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table")...).said("topic balances is compacted and has a newer value of its key", "2 to put back (balances: 2), 0 duplicates, 3 left")
	d.want(cli.ExitDone, with(at, "plan", "-f", "fix.plan")...)
	d.put(value("balances", "later", "2"))
	d.want(cli.ExitPartly, with(at, "replay", "--plan", "fix.plan", "--execute", "--reason", "x", "--create-topics", "-o", "table")...).said("The plan is older than this value: make a new plan", "put back       1")
	expect.Equal(t, fmt.Sprint(d.values("balances")), "map[changed:2 deleted: later:2 still:fixed]", "the topic")
	force := with(at, "replay", "--id", "dlq-0-0", "--origin", "balances", "--force-version", "--reason", "the newer one is wrong", "-o", "table")
	d.want(cli.ExitRefused, force...).said("overwrites newer data", "will overwrite newer data: 1, forced")
	d.want(cli.ExitDone, append(force, "--execute")...)
	d.want(cli.ExitDone, with(at, "audit")...).said("forced: it may overwrite newer data")
	expect.Equal(t, d.values("balances")["changed"], "fixed", "forced")
}

// Elsewhere the order is told, and a younger dead letter that went back since the plan stops an older one of its key.
func TestSafety_C4_orderWithinAKey(t *testing.T) {
	d, at := payments(t, false)
	d.put(d.died("payments", 0, 9, "k", "younger"), d.died("payments", 0, 5, "k", "older"), d.died("payments", 0, 7, "l", "another key"))
	d.want(cli.ExitDone, with(at, "plan", "-f", "older.plan", "--id", "dlq-0-1")...)
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table")...).said("behind a younger dead letter of the same key", "warning: out of order: 1 dead letter, each behind", "dlq-0-1")
	d.want(cli.ExitDone, with(at, "replay", "--id", "dlq-0-0", "--origin", "payments", "--execute", "--reason", "x", "--create-topics")...)
	d.want(cli.ExitPartly, with(at, "replay", "--plan", "older.plan", "--execute", "--reason", "x", "-o", "table")...).said("was put back into payments since the plan was made: make a new plan")
	d.want(cli.ExitDone, with(at, "replay", "--all", "--origin", "payments", "--execute", "--reason", "x", "-o", "table")...)
	expect.Equal(t, len(d.read("payments")), 3, "records put back")
}

// What the target would not take, or would delete before anybody reads it, is left before the first change.
func TestSafety_C4_sizeAndAge(t *testing.T) {
	d, at := payments(t, false)
	d.topic(2, "small", "max.message.bytes", "2000", "retention.ms", "600000")
	random := make([]byte, 3000) // no compressor makes it small
	must.Get(rand.Read(random))(t)
	d.put(d.died("small", 0, 1, "large", string(random)), d.died("small", 0, 2, "dense", strings.Repeat("0", 5000)), d.died("small", 0, 3, "grows", `{"a":1}`))
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table")...).said("topic small does not accept a record of this size, even compressed (max.message.bytes)", "2 to put back (small: 2)")
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--id", "dlq-0-2", "--filter", `printf '"%s"' "$(head -c 3000 /dev/urandom | base64 -w 0)"`)...).said("topic small does not accept a record of this size", "0 to put back")
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--keep-timestamp")...).said("it is older than topic \"small\" keeps or accepts", "0 to put back")
	d.want(cli.ExitDone, with(at, "replay", "--all", "--to", "payments", "--keep-timestamp", "--execute", "--reason", "x", "--create-topics")...)
	for _, r := range d.read("payments") {
		expect.That(t, r.Timestamp.Equal(produced), "%s has the timestamp %s", r.Key, r.Timestamp)
	}
	plain := &kgo.Record{Topic: paymentsDLT, Key: []byte("plain"), Value: []byte("p"), Timestamp: start}
	d.put(plain)
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--to", "payments", "--keep-timestamp")...).said("no header says when it was produced")
	anotherDesk(t, false).want(cli.ExitUsage, "replay", "-c", "pipeline.yaml", "--keep-timestamp")
}

// On a cluster without the replayer's topics a directory keeps what is known: every command that changes or tells works with it, and nothing is
// made on the cluster.
func TestStateDir_C4_keepsWhatTheTopicsWould(t *testing.T) {
	d, at := payments(t, false)
	for i := range 4 {
		d.put(d.died("payments", int32(i%3), int64(i), fmt.Sprint("k", i), fmt.Sprint(i)))
	}
	dir := with(at, "--state-dir", d.file("state"))
	d.want(cli.ExitDone, append([]string{"list"}, dir...)...).counts(4, "\n")
	back := append([]string{"replay", "--id", "dlq-0-0", "--id", "dlq-1-0", "--origin", "payments", "--execute", "--reason", "fixed", "--replay-id", "r1"}, dir...)
	d.want(cli.ExitRefused, back...).says("there is no state in", "Other machines see nothing of it", "--state-dir state", "--create-topics")
	d.want(cli.ExitDone, append(back, "--create-topics")...)
	d.want(cli.ExitNothing, back...)
	d.want(cli.ExitDone, append([]string{"discard", "--id", "dlq-0-1", "--execute", "--reason", "gone", "-o", "json"}, dir...)...)
	var done struct{ ID string }
	d.decode(&done)
	d.want(cli.ExitDone, append([]string{"undo", done.ID, "--execute", "--reason", "too soon"}, dir...)...)
	d.want(cli.ExitNothing, append([]string{"pause", done.ID}, dir...)...).says(done.ID)
	d.want(cli.ExitDone, append([]string{"list", "--status", "pending"}, dir...)...).counts(2, "\n")
	d.want(cli.ExitDone, append([]string{"show", "dlq-0-0", "-o", "json"}, dir...)...).prints("put back into payments: fixed", "replayed")
	d.want(cli.ExitDone, append([]string{"replays", "r1", "-o", "json"}, dir...)...).prints(`"elsewhere": 2`)
	d.want(cli.ExitDone, append([]string{"audit", "--operation", "r1"}, dir...)...).counts(2, `"decision":"replayed"`)
	d.env.Now = func() time.Time { return start.Add(2 * time.Hour) }
	d.want(cli.ExitDone, append([]string{"prune", "--older-than", "1h", "--execute", "--reason", "monthly", "-o", "json"}, dir...)...).prints(`"dead_letters": 2`)
	expect.That(t, !strings.Contains(fmt.Sprint(d.topics()), ".replayer-"), "the cluster has %v", d.topics())
	expect.Equal(t, len(d.read("payments")), 2, "records put back")
	d.want(cli.ExitDone, append([]string{"acls", "--principal", "User:desk", "--target", "payments"}, dir...)...).hides(".replayer-status")
	d.want(cli.ExitUsage, "list", "-c", "pipeline.yaml", "--state-dir", d.file("state")).says("--state-dir is for a DLQ without a pipeline")
	d.want(cli.ExitDone, with(at, "replay", "--id", "dlq-0-1", "--origin", "payments", "--execute", "--reason", "x", "--create-topics")...)
	d.want(cli.ExitRuntime, with(at, "list", "--state-dir", d.file("other"))...).says("leave --state-dir out")
}
