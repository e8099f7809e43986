package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// The dry run refuses exactly what a gate of the consumer refuses, with the same text: each setting with each kind of
// record.
func TestTry_C4_refusesWhatTheGatesRefuse(t *testing.T) {
	t.Parallel()
	one := fmt.Sprintf(feature, "5")
	collection := `{"type":"FeatureCollection","features":[` + one + `,{"type":"Feature","id":"b","geometry":null,"properties":{}},` + one + `]}`
	large := strings.Replace(one, `"a"`, `"`+strings.Repeat("a", 2000)+`"`, 1)
	rest := &header.Remaining{Of: 3, Open: []int{0}, Delivered: 2}
	settings := map[string]string{
		"defaults":     "transform: { unmapped: keep }\n",
		"keys":         "source: { null_keys: accept }\ntransform: { unmapped: keep }\n",
		"small":        "source: { max_record_bytes: 1024 }\ntransform: { unmapped: keep }\n",
		"split":        "source: { split: features }\ntransform: { unmapped: keep }\n",
		"whole":        "source: { split: features, collections: all_or_nothing }\ntransform: { unmapped: keep }\n",
		"versions":     "source: { version: properties.updated }\ntransform: { unmapped: keep }\n",
		"required":     "transform: { fields: [{ from: o, to: o, required: true }], flatten: {} }\n",
		"avro":         "output: { format: avro, avro: { framing: single_object } }\ntransform: { unmapped: keep }\n",
		"marks":        "governance: { care: { field: properties.care, required: true } }\ntransform: { unmapped: keep }\n",
		"split, marks": "governance: { care: { field: properties.NAME, required: true } }\nsource: { split: features }\ntransform: { unmapped: keep }\n",
	}
	records := map[string]retrytopics.Record{
		"feature":        {Key: []byte("k"), Value: []byte(one)},
		"no key":         {Value: []byte(one)},
		"empty key":      {Key: []byte{}, Value: []byte(one)},
		"large":          {Key: []byte("k"), Value: []byte(large)},
		"delete":         {Key: []byte("k")},
		"no key, delete": {},
		"collection":     {Key: []byte("k"), Value: []byte(collection)},
		"not JSON":       {Key: []byte("k"), Value: []byte("x")},
		"empty object":   {Key: []byte("k"), Value: []byte(strings.Replace(one, `"NAME":"a"`, `"o":{}`, 1))},
		"object":         {Key: []byte("k"), Value: []byte(strings.Replace(one, `"a"`, `{}`, 1))},
		"part":           {Key: []byte("k"), Value: []byte(one), Control: &header.Control{Part: header.Part{Index: 2, Of: 3}}},
		"parts left":     {Key: []byte("k"), Value: []byte(collection), Control: &header.Control{Remaining: rest}},
		"marked":         {Key: []byte("k"), Value: []byte(one), Headers: []kgo.RecordHeader{{Key: "care", Value: []byte("C1")}}, Control: &header.Control{Care: "C1"}},
	}
	refused := map[classify.Code]bool{}
	for name, file := range settings {
		p := build(t, file)
		for kind, r := range records {
			if r.Control == nil {
				r.Control = &header.Control{}
			}
			handled, tried := r, r
			result, why := p.Handle(t.Context(), &handled)
			if why == nil && len(result.Failed) > 0 {
				why = result.Failed[0].Err
			}
			_, err := p.Try(t.Context(), &tried)
			expect.That(t, (why == nil) == (err == nil) && (why == nil || strings.HasSuffix(err.Error(), why.Error())), "%s, %s: consumer %v, dry run %v", name, kind, why, err)
			if err != nil {
				refused[classify.Of(err).Code] = true
			}
		}
	}
	for _, code := range []classify.Code{classify.CodeNullKey, classify.CodeRecordTooLarge, classify.CodeMissingRequired, classify.CodeDuplicateKey} {
		expect.That(t, refused[code], "no case was refused with %s: %v", code, refused)
	}
}

// Like the consumer, the dry run checks whether the output topic accepts the output: its compressed size, and its key
// if the topic is compacted. It ignores possible changes by remote steps.
func TestTry_C4_refusesOutputsThatTheirTopicDoesNotTake(t *testing.T) {
	t.Parallel()
	cluster := fakekafka.Start(t, kfake.SeedTopics(1, "other"))
	client := fakekafka.Client(t, cluster)
	noise := make([]byte, 30_000)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = 'a' + byte(r.IntN(26))
	}
	sized := func(n int) []byte {
		return []byte(strings.Replace(fmt.Sprintf(feature, "5"), `"a"`, `"`+string(noise[:n])+`"`, 1))
	}
	blank := []byte(strings.Replace(fmt.Sprintf(feature, "5"), `"a"`, `"`+strings.Repeat("a", 30_000)+`"`, 1))
	for i, c := range []struct {
		name, file, policy string
		r                  retrytopics.Record
		want               classify.Code
	}{
		{"small", "transform: { unmapped: keep }\n", "delete", retrytopics.Record{Key: []byte("k"), Value: sized(100)}, ""},
		{"large", "transform: { unmapped: keep }\n", "delete", retrytopics.Record{Key: []byte("k"), Value: sized(30_000)}, classify.CodeOutputTooLarge},
		{"large, but maps little", "transform: { unmapped: drop }\n", "delete", retrytopics.Record{Key: []byte("k"), Value: sized(30_000)}, ""},
		{"large, but compresses", "transform: { unmapped: keep }\n", "delete", retrytopics.Record{Key: []byte("k"), Value: blank}, ""},
		{"headers", "transform: { unmapped: keep }\n", "delete", retrytopics.Record{Key: []byte("k"), Value: sized(1), Headers: []kgo.RecordHeader{{Key: "h", Value: noise}}}, classify.CodeOutputTooLarge},
		{"a part", "source: { split: features }\ntransform: { unmapped: keep }\n", "delete",
			retrytopics.Record{Key: []byte("k"), Value: []byte(`{"type":"FeatureCollection","features":[` + string(sized(5)) + `,` + strings.Replace(string(sized(30_000)), "p-1", "p-2", 1) + `]}`)}, classify.CodeOutputTooLarge},
		{"avro", "output: { format: avro, avro: { framing: single_object } }\ntransform: { unmapped: keep }\n", "delete", retrytopics.Record{Key: []byte("k"), Value: sized(30_000)}, classify.CodeOutputTooLarge},
		{"a step overwrites it", "transform: { unmapped: keep }\nenrich: [{ name: a, http: { url: \"https://a.example/\" }, set: { NAME: /a } }]\n", "delete", retrytopics.Record{Key: []byte("k"), Value: sized(30_000)}, ""},
		{"a step adds to it", "transform: { unmapped: keep }\nenrich: [{ name: a, http: { url: \"https://a.example/\" }, set: { x: /a } }]\n", "delete", retrytopics.Record{Key: []byte("k"), Value: sized(30_000)}, classify.CodeOutputTooLarge},
		{"no key", "source: { null_keys: accept }\ntransform: { unmapped: keep }\n", "compact", retrytopics.Record{Value: sized(5)}, classify.CodeNullKey},
		{"a delete without key", "source: { null_keys: accept }\ntransform: { unmapped: keep }\n", "compact", retrytopics.Record{}, classify.CodeNullKey},
		{"no key, deleted by time", "source: { null_keys: accept }\ntransform: { unmapped: keep }\n", "delete", retrytopics.Record{Value: sized(5)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			topic, limit := fmt.Sprint("out-", i), "16384"
			must.Get(kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, map[string]*string{"max.message.bytes": &limit, "cleanup.policy": &c.policy}, topic))(t)
			limits := must.Get(retrytopics.ReadLimits(t.Context(), client, topic))(t)
			file := strings.Replace(c.file, "output: {", "output: { topic: "+topic+",", 1)
			if file == c.file {
				file += "output: { topic: " + topic + " }\n"
			}
			cfg := must.Get(config.Parse("test.yaml", []byte(head+file), func(string) string { return "" }))(t)
			m, err := pipeline.NewMapping(cfg)
			must.Do(t, err)
			c.r.Limits = limits
			_, err = m.Try(t.Context(), &c.r)
			expect.That(t, (err == nil) == (c.want == "") && (err == nil || classify.Of(err).Code == c.want), "%v, want %s", err, c.want)
			c.r.Limits = nil
			_, err = m.Try(t.Context(), &c.r)
			expect.That(t, err == nil, "without limits: %v", err)
		})
	}
}

// The dry run refuses keys that find no row of the sink's table, by each rule, without a request to the database.
func TestTry_C4_refusesKeysThatFindNoRow(t *testing.T) {
	t.Parallel()
	value := []byte(fmt.Sprintf(feature, "5"))
	for _, c := range []struct {
		rule   string
		key    string
		value  []byte
		passes bool
	}{
		{"record_key", "k", value, true},
		{"record_key", "\xff", value, false},
		{"record_key", "a\x00", nil, false},
		{"feature_id", "\xff", value, true},
		{"feature_id", "k", []byte(strings.Replace(string(value), `"id":"p-1",`, "", 1)), false},
		{"key.id", `{"id":7}`, value, true},
		{"key.id", `{"nr":7}`, value, false},
		{"key.id", `{"nr":7}`, nil, false},
		{"key.id", "k", value, false},
	} {
		file := head + "sink: { key: " + c.rule + ", postgis: { dsn_env: DSN, table: parcels } }\ntransform: { unmapped: keep }\n"
		cfg := must.Get(config.Parse("test.yaml", []byte(file), func(name string) string { return map[string]string{"DSN": "postgres://x"}[name] }))(t)
		m, err := pipeline.NewMapping(cfg)
		must.Do(t, err)
		_, err = m.Try(t.Context(), &retrytopics.Record{Key: []byte(c.key), Value: c.value})
		expect.That(t, (err == nil) == c.passes, "%s, key %q: %v", c.rule, c.key, err)
	}
}
