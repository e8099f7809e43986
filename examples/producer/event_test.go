package main

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// C-7: a producer may hold its features in either of the usual forms.
func TestReadEvents_both_forms(t *testing.T) {
	const a, b = `{"type":"Feature","id":"a","geometry":null,"properties":{}}`, `{"type":"Feature","id":9007199254740993,"geometry":null,"properties":{}}`
	for name, input := range map[string]string{
		"one a line":            a + "\n" + b + "\n",
		"a blank line between":  a + "\n\n" + b,
		"a FeatureCollection":   `{"type":"FeatureCollection","features":[` + a + `,` + b + `]}`,
		"a collection in lines": "{\"type\":\"FeatureCollection\",\n\"features\":[\n" + a + ",\n" + b + "\n]\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			var keys []string
			for e, err := range readEvents(strings.NewReader(input)) {
				must.Do(t, err)
				keys = append(keys, e.Key)
				want := map[string]string{"a": a, "9007199254740993": b}[e.Key]
				expect.That(t, string(e.Value) == want, "the value of %s is not what was read: %s", e.Key, e.Value)
			}
			expect.Equal(t, strings.Join(keys, " "), "a 9007199254740993", "keys")
		})
	}
}

// C-7: a producer learns of a bad feature before a consumer does.
func TestReadEvents_says_which_feature_is_wrong(t *testing.T) {
	const good = `{"type":"Feature","id":"a","geometry":null,"properties":{}}` + "\n"
	for name, c := range map[string]struct{ input, want string }{
		"no id":            {`{"type":"Feature","geometry":null,"properties":{}}`, "feature 2: the feature has no id"},
		"null id":          {`{"type":"Feature","id":null}`, "feature 2: the feature has no id"},
		"empty id":         {`{"type":"Feature","id":""}`, "feature 2: the id is empty"},
		"id is an object":  {`{"type":"Feature","id":{}}`, "feature 2: the id {} is neither"},
		"a bare geometry":  {`{"type":"Point","coordinates":[1,2]}`, `feature 2: type is "Point"`},
		"truncated":        {`{"type":"Feature",`, "feature 2: unexpected EOF"},
		"not an object":    {`[1]`, "feature 2: not JSON"},
		"something else":   {`hello`, "feature 2: invalid character"},
		"id is a boolean":  {`{"type":"Feature","id":true}`, "feature 2: the id true is neither"},
		"id is not quoted": {`{"type":"Feature","id":"a}`, "feature 2: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			var last error
			n := 0
			for _, err := range readEvents(strings.NewReader(good + c.input)) {
				n++
				last = err
			}
			expect.That(t, last != nil && strings.HasPrefix(last.Error(), c.want) && n == 2, "after %d events: %v, want %s", n, last, c.want)
		})
	}
}
