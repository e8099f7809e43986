package pipeline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// The clock of these tests stands at midnight UTC, 2000-01-01: 946,684,800 s.
func TestVersion_S0_8_farAheadOfTheClock(t *testing.T) {
	const future, bad = classify.CodeVersionInFuture, classify.CodeCoercionFailed
	for name, c := range map[string]struct {
		source, updated string
		want            int64
		code            classify.Code
	}{
		"now":                            {"", `"2000-01-01T00:00:00Z"`, 946684800e9, ""},
		"fractions of a second":          {"", `"1999-07-01T12:00:00.5Z"`, 930830400500000000, ""},
		"a number as text":               {"", `"946684800123"`, 946684800123, ""},
		"no time and no number":          {"", `"yesterday"`, 0, bad},
		"null":                           {"", "null", 0, classify.CodeMissingRequired},
		"the last that passes":           {"", `"2000-01-01T01:00:00Z"`, 946688400e9, ""},
		"one nanosecond more":            {"", `"2000-01-01T01:00:00.000000001Z"`, 0, future},
		"another zone":                   {"", `"2000-01-01T03:00:00+02:00"`, 946688400e9, ""},
		"an offset that no time has":     {"", `"2000-01-01T00:00:00+24:00"`, 0, bad},
		"beyond 64 bits of nanoseconds":  {"", `"9999-12-31T23:59:59Z"`, 0, future},
		"before them":                    {"", `"1600-01-01T00:00:00Z"`, 0, bad},
		"a limit of its own":             {", max_version_ahead: 24h", `"2000-01-01T23:00:00Z"`, 946767600e9, ""},
		"beyond it":                      {", max_version_ahead: 24h", `"2000-01-02T00:00:01Z"`, 0, future},
		"a number that is no time":       {"", "9000000000000000", 9e15, ""},
		"a revision":                     {", version_form: number", "9000000000000000", 9e15, ""},
		"a time for a revision":          {", version_form: number", `"2000-01-01T00:00:00Z"`, 0, bad},
		"9e15 as milliseconds":           {", version_form: unix_ms", "9000000000000000", 0, future},
		"milliseconds":                   {", version_form: unix_ms", "946688400000", 946688400e3, ""},
		"a millisecond more":             {", version_form: unix_ms", "946688400001", 0, future},
		"seconds":                        {", version_form: unix_s", "946688400", 946688400, ""},
		"milliseconds for seconds":       {", version_form: unix_s", "946684800000", 0, future},
		"microseconds":                   {", version_form: unix_us", "946688400000001", 0, future},
		"nanoseconds":                    {", version_form: unix_ns", "946688400000000001", 0, future},
		"the largest number":             {", version_form: unix_ns", "9223372036854775807", 0, future},
		"beyond 64 bits":                 {", version_form: unix_ns", "9223372036854775808", 0, bad},
		"a time for milliseconds":        {", version_form: unix_ms", `"2000-01-01T00:00:00Z"`, 0, bad},
		"9e15 among times":               {", version_form: rfc3339", "9000000000000000", 0, bad},
		"nothing but times":              {", version_form: rfc3339", `"2000-01-01T00:00:00Z"`, 946684800e9, ""},
		"nothing but times, in the past": {", version_form: rfc3339", `"1999-01-01T00:00:00Z"`, 915148800e9, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := build(t, "source: { version: properties.updated"+c.source+" }\n")
				result, err := p.Handle(t.Context(), record(fmt.Sprintf(feature, c.updated)))
				switch {
				case c.code != "":
					var e *transform.Error
					expect.That(t, errors.As(err, &e) && e.Code == c.code && result.Version == nil, "version %v, %v; want %s", result.Version, err, c.code)
				case err != nil || result.Version == nil || *result.Version != c.want:
					t.Errorf("version %v, %v; want %d", result.Version, err, c.want)
				}
			})
		})
	}
}

// A feature of a collection fails by itself, and its version is not that of the others; all or nothing refuses the collection. The dry run says the same, and a replay passes once the time has come.
func TestVersion_S0_8_collectionsDryRunAndReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := build(t, "source: { version: properties.updated, split: features }\n")
		whole := build(t, "source: { version: properties.updated, split: features, collections: all_or_nothing }\n")
		one, two := fmt.Sprintf(feature, `"2000-01-01T00:00:00Z"`), strings.Replace(fmt.Sprintf(feature, `"2000-01-01T05:00:00Z"`), "p-1", "p-2", 1)
		collection := `{"type":"FeatureCollection","features":[` + one + "," + two + `]}`
		if _, err := whole.Handle(t.Context(), record(collection)); err == nil || !strings.Contains(err.Error(), "/features/1/properties/updated") {
			t.Errorf("got %v", err)
		}
		r, err := p.Handle(t.Context(), record(collection))
		expect.That(t, err == nil && len(r.Outputs) == 1 && len(r.Failed) == 1 && strings.Contains(r.Failed[0].Err.Error(), "/features/1/properties/updated"), "%+v, %v", r, err)
		now := time.Now().UnixNano()
		expect.That(t, r.Version != nil && *r.Version <= now, "the version of the collection is %v, now it is %d", r.Version, now)
		if _, err := p.Try(t.Context(), record(two)); err == nil {
			t.Error("the dry run lets it pass")
		}
		for _, control := range []header.Control{{DeadLetterID: "d"}, {DeadLetterID: "d", ForceVersion: true}} {
			replay := record(two)
			replay.Control = &control
			_, err := p.Handle(t.Context(), replay)
			expect.That(t, err != nil, "a replay before its time passes")
		}
		time.Sleep(4 * time.Hour)
		if _, err := p.Handle(t.Context(), record(two)); err != nil {
			t.Errorf("once its time has come: %v", err)
		}
	})
}
