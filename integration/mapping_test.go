package integration

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S4-8: the mapping is fixed in the file, and the instances still run the former one. Nothing goes back until they were restarted; what is
// said follows the group, also when a static member comes back under its name without a rebalance.
func TestMapping_S4_8_nothingGoesBackToInstancesWithAnotherOne(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	for name, static := range map[string]bool{"static": true, "dynamic": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &drill{pipe: newPipe(t, 2*time.Minute, func(s *settings) { s.Static = static }).ensure()}
			d.sendInMetres(ids("metres", 20))
			first := map[string]*proc.Process{"one": d.start("one"), "two": d.start("two")}
			d.log.Tail(t, d.topics.DLQ).UntilCount(d.ctx, t, "the dead letters", 20)
			d.announced("one", "two")
			d.types(0, "consumer status", "2 instances are running")
			d.readsMetres()

			const replay = "replayer replay --all --execute --reason level+in+metres+is+read --wait"
			d.types(exitRefused, "replayer replay --all", "DIFFERENT", "one", "two")
			d.types(exitRefused, replay, "refused", "--mapping-differs")
			d.replaced(first, "one")
			d.announced("one", "two")
			d.types(exitRefused, replay, "refused", "instance one", "the same", "DIFFERENT")
			d.replaced(first, "two")
			d.announced("one", "two")
			d.types(0, replay, `"reinjected":20`)
			d.log.Tail(t, d.topics.Output).UntilCount(d.ctx, t, "the outputs", 20)
			for _, consumer := range first {
				d.stop(consumer)
			}
			d.verify()
		})
	}
}

// started is what an instance says once it is at work.
var started = regexp.MustCompile(`"msg":"consumer started"`)

// replaced lets an instance start again with the file as it is now, and waits until the group knows the new process: a static
// member keeps what its former process announced until it has joined.
func (d *drill) replaced(running map[string]*proc.Process, name string) {
	d.t.Helper()
	line := func() string {
		for l := range strings.SplitSeq(d.announced(slices.Collect(maps.Keys(running))...), "\n") {
			if announces(l, name) {
				return l
			}
		}
		return ""
	}
	before := line()
	running[name].Signal(d.t, syscall.SIGTERM)
	if r := running[name].Wait(d.ctx, d.t); r.Code != 0 {
		d.t.Fatalf("the instance that is replaced: %s", r)
	}
	running[name] = d.start(name)
	running[name].WaitFor(d.ctx, d.t, running[name].Stderr, started)
	eventually.Until(d.ctx, d.t, "the new process in the group", func() (bool, string) {
		now := line() // it listens at another port
		return now != before, now
	})
}

// announces reports whether `consumer status` lists an instance. Its columns are as wide as the longest word asks.
func announces(told, name string) bool {
	return strings.Contains(strings.Join(strings.Fields(told), " "), "instance "+name+" at ")
}

// announced waits until the group is stable, and `consumer status` says which mapping these instances run.
func (d *drill) announced(names ...string) string {
	d.t.Helper()
	var told string
	eventually.Until(d.ctx, d.t, "what the instances announce", func() (bool, string) {
		r := d.run("consumer", "status", "-c", d.file, "-o", "table")
		told = r.Stdout + r.Stderr
		for _, name := range names {
			if !announces(told, name) {
				return false, told
			}
		}
		return !strings.Contains(told, "unknown"), told
	})
	return told
}

// S4-8: a reference set is part of the mapping. An instance that takes up a changed one joins the group again and says so; its partitions
// stay, and it goes on.
func TestMapping_S4_8_aChangedReferenceSetIsAnnounced(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	codes := filepath.Join(t.TempDir(), "codes.csv")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(codes, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("id\na-0\n")
	p := newPipe(t, 2*time.Minute, func(s *settings) {
		s.Transform = fmt.Sprintf("references: [{ name: known, file: %q, column: id }]", codes)
	}).ensure()
	p.mapsTo("{ from: id, to: id, type: string, required: true, references: { set: known, mandatory: true } }")
	d := &drill{pipe: p}
	consumer := d.start("it")
	consumer.WaitFor(d.ctx, t, consumer.Stderr, started)
	before := d.announced("it")
	write("id\na-0\na-1\n")
	eventually.Until(d.ctx, t, "another mapping", func() (bool, string) {
		now := d.announced("it")
		return mappingIn(now) != mappingIn(before), now
	})
	d.send("a-0", "a-1")
	d.log.Tail(t, d.topics.Output).UntilCount(d.ctx, t, "the outputs", 2)
	d.types(exitNothing, "replayer replay --all")
	d.stop(consumer)
}

// mapsTo puts another field in the place of the id's.
func (p *pipe) mapsTo(field string) {
	p.t.Helper()
	text, err := os.ReadFile(p.file)
	const was = "{ from: id, to: id, type: string, required: true }"
	if err != nil || !strings.Contains(string(text), was) {
		p.t.Fatalf("the pipeline file has another mapping: %v", err)
	}
	if err := os.WriteFile(p.file, []byte(strings.Replace(string(text), was, field, 1)), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// mappingIn finds the fingerprint in what `consumer status` says.
func mappingIn(status string) string {
	return regexp.MustCompile(`sha256:[0-9a-f]+`).FindString(status)
}
