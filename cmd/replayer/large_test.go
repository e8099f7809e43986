package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// bomb writes a dead letter of so many MiB that takes some KiB of zstd.
func (d *desk) bomb(id string, mib int64) {
	d.t.Helper()
	record := bombs.Record{Key: []byte("k"), Value: []byte(`{"type":"Feature","ñ`), Blanks: mib << 20, Headers: letter(0, id, "", "the record is larger than the limit").Headers}
	must.Get(bombs.Produce(d.t.Context(), d.writer, "features.dlq", 0, bombs.Batch(kgo.CodecZstd, start, record)))(d.t)
}

// elsewhere writes a record into the source topic and the pointer to it into the DLQ.
func (d *desk) elsewhere(id, value string) {
	d.t.Helper()
	offset := must.Get(bombs.Produce(d.t.Context(), d.writer, "features", 1, bombs.Batch(kgo.CodecZstd, start, bombs.Record{Key: []byte("key"), Value: []byte(value)})))(d.t)
	r := letter(1, id, "", "it fits into no topic")
	r.Key, r.Value = []byte("key"), []byte{}
	p := header.PointTo(header.Position{Topic: "features", Partition: 1, Offset: offset}, r.Key, []byte(value), true)
	r.Headers = p.Append(r.Headers)
	d.put(r)
}

func TestLarge_S0_5_every_command_says_what_is_too_large(t *testing.T) {
	d := newDesk(t, false)
	d.bomb("0-40-aaaaaaaa", 50)
	d.put(letter(0, "0-41-bbbbbbbb", fmt.Sprintf(square, "b"), "ring 3 crosses itself"))

	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml")
	lines := each[map[string]any](d)
	listed := lines[slices.IndexFunc(lines, func(one map[string]any) bool { return one["id"] == "0-40-aaaaaaaa" })]
	_, hasValue := listed["value"]
	expect.That(t, len(lines) == 2 && !hasValue && listed["bytes"] == float64(50<<20+21) && strings.HasPrefix(fmt.Sprint(listed["too_large"]), "too large to index: it has 5242"),
		"%d lines, %v", len(lines), listed)
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "-o", "table").prints("! too large to index")
	d.want(cli.ExitDone, "stats", "-c", "pipeline.yaml", "-o", "table").prints("dead letters     2")
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "0-40-aaaaaaaa", "-o", "table").prints("problem        too large to index: it has 5242", "it was not asked: the value is not at hand", "original bytes (52428821)", `{"type":"Feature","ñ    `)
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "0-40-aaaaaaaa").prints(`"value":null`, `"today":null`, `"too_large":"too large`, `"value_missing":"too large`)
	for _, format := range []string{"ndjson", "geojson", "csv"} {
		d.want(cli.ExitDone, "export", "-c", "pipeline.yaml", "--format", format)
		expect.That(t, (strings.Contains(d.out.String(), "too_large") || format == "geojson") && strings.Contains(d.out.String(), "0-40-aaaaaaaa"), "%s", &d.out)
	}
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "0-40-aaaaaaaa", "--out", "original.json")
	info, err := os.Stat(d.file("original.json"))
	expect.That(t, err == nil && info.Size() == 50<<20+21 && info.Mode().Perm() == 0o600, "%v, %v", info, err)
	d.says("52428821 bytes of dead letter 0-40-aaaaaaaa, read from features.dlq/0/0, are in original.json (SHA-256 ")
	d.want(cli.ExitUsage, "show", "-c", "pipeline.yaml", "0-40-aaaaaaaa", "--out", "original.json")
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "0-41-bbbbbbbb", "--out", "-")
	expect.That(t, d.out.String() == fmt.Sprintf(square, "b"), "%q", &d.out)
	d.want(cli.ExitDone, "index", "-c", "pipeline.yaml", "--check")
	d.want(cli.ExitPartly, "replay", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "try").prints(`"reinjected":1`, "too large to index")
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "nothing to save")
}

func TestPointer_S0_5_show_fetches_the_original_while_it_is_there(t *testing.T) {
	d := newDesk(t, false)
	value := fmt.Sprintf(square, "small")
	d.elsewhere("1-0-aaaaaaaa", value)
	large := fmt.Sprintf(square, "large") + strings.Repeat(" ", 9<<20)
	d.elsewhere("1-1-bbbbbbbb", large)

	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml")
	got := d.out.String()
	expect.That(t, strings.Count(got, `"pointer":{"topic":"features","partition":1,"offset":`) == 2 && !strings.Contains(got, `"value"`), "%s", got)
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "--text", `"small"`)
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "1-0-aaaaaaaa", "-o", "table").prints("original at    features/1/0 (", "passes (remote steps", `"name": "Größe"`)
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "1-1-bbbbbbbb", "-o", "table").prints("it was not asked", "its value has 9437", "replayer show 1-1-bbbbbbbb --out FILE writes it", "the first 1024 of them")
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "1-1-bbbbbbbb", "--out", "large.json")
	written := must.Get(os.ReadFile(d.file("large.json")))(t)
	expect.That(t, string(written) == large, "%d bytes", len(written))
	for _, format := range []string{"ndjson", "csv"} {
		d.want(cli.ExitDone, "export", "-c", "pipeline.yaml", "--format", format).prints("pointer")
	}
	d.want(cli.ExitDone, "index", "-c", "pipeline.yaml", "--check")

	var offsets kadm.Offsets
	offsets.AddOffset("features", 1, 2, -1)
	must.Get(kadm.NewClient(d.writer).DeleteRecords(t.Context(), offsets))(t)
	for _, id := range []string{"1-0-aaaaaaaa", "1-1-bbbbbbbb"} {
		d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", id).prints(`"value_missing":"the payload is gone: retention took features/1/`)
		d.want(cli.ExitRuntime, "show", "-c", "pipeline.yaml", id, "--out", "gone.json")
		_, err := os.Stat(d.file("gone.json"))
		expect.That(t, err != nil && strings.Contains(d.err.String(), "the original bytes cannot be had: retention took features/1/"), "%s", &d.err)
	}
	left, err := os.ReadDir(d.dir)
	expect.That(t, err == nil && len(left) == 2, "half files are left: %v, %v", left, err)
}
