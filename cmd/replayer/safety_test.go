package main

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table")...)
	d.said("topic balances is compacted and has a newer value of its key", "2 to put back (balances: 2), 0 duplicates, 3 left")
	d.want(cli.ExitDone, with(at, "plan", "-f", "fix.plan")...)
	d.put(value("balances", "later", "2"))
	d.want(cli.ExitPartly, with(at, "replay", "--plan", "fix.plan", "--execute", "--reason", "x", "--create-topics", "-o", "table")...)
	d.said("It came since the plan was made: make a new plan", "put back       1")
	got := fmt.Sprint(d.values("balances"))
	expect.That(t, got == "map[changed:2 deleted: later:2 still:fixed]", "the topic has %s", got)
	force := with(at, "replay", "--id", "dlq-0-0", "--origin", "balances", "--force-version", "--reason", "the newer one is wrong", "-o", "table")
	d.want(cli.ExitRefused, force...)
	d.said("overwrites newer data", "will overwrite newer data: 1, forced")
	d.want(cli.ExitDone, append(force, "--execute")...)
	d.want(cli.ExitDone, with(at, "audit")...)
	d.said("forced: it may hide newer data")
	got = d.values("balances")["changed"]
	expect.That(t, got == "fixed", "forced: the topic has %s", got)
}

// Elsewhere the order is told, and a younger dead letter that went back since the plan stops an older one of its key.
func TestSafety_C4_orderWithinAKey(t *testing.T) {
	d, at := payments(t, false)
	d.put(d.died("payments", 0, 9, "k", "younger"), d.died("payments", 0, 5, "k", "older"), d.died("payments", 0, 7, "l", "another key"))
	d.want(cli.ExitDone, with(at, "plan", "-f", "older.plan", "--id", "dlq-0-1")...)
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table")...)
	d.said("behind a younger dead letter of the same key", "warning: out of order: 1 dead letter, each behind", "dlq-0-1")
	d.want(cli.ExitDone, with(at, "replay", "--id", "dlq-0-0", "--origin", "payments", "--execute", "--reason", "x", "--create-topics")...)
	d.want(cli.ExitPartly, with(at, "replay", "--plan", "older.plan", "--execute", "--reason", "x", "-o", "table")...)
	d.said("was put back into payments since the plan was made: make a new plan")
	d.want(cli.ExitDone, with(at, "replay", "--all", "--origin", "payments", "--execute", "--reason", "x", "-o", "table")...)
	got := len(d.read("payments"))
	expect.That(t, got == 3, "%d were put back", got)
}

// What the target would not take, or would delete before anybody reads it, is left before the first change.
func TestSafety_C4_sizeAndAge(t *testing.T) {
	d, at := payments(t, false)
	d.topic(2, "small", "max.message.bytes", "2000", "retention.ms", "600000")
	random := make([]byte, 3000) // no compressor makes it small
	must.Get(rand.Read(random))(t)
	d.put(d.died("small", 0, 1, "large", string(random)), d.died("small", 0, 2, "dense", strings.Repeat("0", 5000)), d.died("small", 0, 3, "grows", `{"a":1}`))
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table")...)
	d.said("topic small does not take so large a record, even compressed (max.message.bytes)", "2 to put back (small: 2)")
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--id", "dlq-0-2", "--filter", `printf '"%s"' "$(head -c 3000 /dev/urandom | base64 -w 0)"`)...)
	d.said("topic small does not take so large a record", "0 to put back")
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--keep-timestamp")...)
	d.said("it is older than what topic \"small\" keeps or takes", "0 to put back")
	d.want(cli.ExitDone, with(at, "replay", "--all", "--to", "payments", "--keep-timestamp", "--execute", "--reason", "x", "--create-topics")...)
	for _, r := range d.read("payments") {
		expect.That(t, r.Timestamp.Equal(produced), "%s has the timestamp %s", r.Key, r.Timestamp)
	}
	plain := &kgo.Record{Topic: paymentsDLT, Key: []byte("plain"), Value: []byte("p"), Timestamp: start}
	d.put(plain)
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--to", "payments", "--keep-timestamp")...)
	d.said("no header says when it was produced")
	own := newDesk(t, false)
	own.want(cli.ExitUsage, "replay", "-c", "pipeline.yaml", "--keep-timestamp")
}
