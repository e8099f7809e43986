package console

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

const (
	evesToken = "eve-eve-eve-eve-eve-eve-"
	secret    = "Beeblebrox"
	masks     = "mask: [/properties/owner, /phone]\n"
)

// withSecrets starts a console whose dead letters have a secret wherever one can be. Eve may edit, and sees it.
func withSecrets(t *testing.T, rules string) *operator {
	t.Helper()
	o := withAccess(t, strings.Replace(tokenFile, "people: [", "people: [{name: eve, role: edit, token_file: eve}, ", 1)+rules, 0)
	tells := func(c *header.Control) {
		c.ErrorCode, c.ErrorMessage, c.FeatureID, c.BBox = "invalid_number", "owner is no number: "+secret, secret, "1,2,1,2"
		c.ErrorRequest, c.ErrorResponse = &classify.Request{Method: "GET", URL: "https://registry.example/" + secret}, &classify.Response{Status: 404, Body: secret}
	}
	for i, value := range []string{
		`{"type":"Feature","id":"1","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"owner":"` + secret + `","use":"kept"}}`,
		`{"type":"FeatureCollection","features":[{"properties":{"owner":{"first":"` + secret + `"}}}]}`,
		`{"properties":{"owner":"x","owner":"` + secret + `"},"Properties":{"\u0070hone":["` + secret + `"]}}`,
		`{"properties":{"owner":"` + secret + `"}} trailing`, secret, "\xff" + secret,
	} {
		r := letter("id-"+string(rune('a'+i)), i, tells)
		r.Key, r.Value = []byte(secret), []byte(value)
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: "kafka_exception-message", Value: []byte(secret)}, kgo.RecordHeader{Key: "raw", Value: []byte("\xff" + secret)})
		e := event("id-"+string(rune('a'+i)), "op-1", i)
		o.put(r, e)
	}
	spring := []kgo.RecordHeader{{Key: "kafka_dlt-original-topic", Value: []byte("features")}, {Key: "kafka_dlt-exception-stacktrace", Value: []byte("a.B: m\nCaused by: a.C: " + secret)}}
	o.put(&kgo.Record{Topic: "features.dlq", Key: []byte(secret), Value: []byte(secret), Timestamp: start, Headers: spring})
	return o
}

// everything lists the addresses of all routes, about one dead letter each.
func everything() (paths []string) {
	for _, r := range slices.Concat(routes(), pageRoutes(), changeRoutes(), editRoutes()) {
		for _, id := range []string{"id-a", "id-b", "id-c", "id-d", "id-e", "id-f", "dlq-0-6"} {
			path := strings.NewReplacer("{id}", id, "{$}", "").Replace(r.path)
			if r.path == "/change" {
				path += "?verb=replay&id=" + id
			}
			if path == "/" || path == "/api/groups" {
				path += "?status=pending"
			}
			paths = append(paths, path)
		}
	}
	return append(paths, "/audit?dead_letter=id-a", "/api/audit?dead_letter=id-a", "/audit?operation=op-1")
}

// as sends a request with a token.
func (o *operator) as(token, path string) *httptest.ResponseRecorder {
	r := request(path)
	r.Header.Set("Authorization", "Bearer "+token)
	return o.ask(r)
}

// Whoever may not edit finds a masked value nowhere: in no page, no JSON, no bytes, no message that quotes it, and no filter guesses it.
func TestMask_S4_6_tells_nothing(t *testing.T) {
	o := withSecrets(t, masks)
	group := ""
	if groups := o.as(evesToken, "/api/groups").Body.String(); strings.Contains(groups, `"id":"`) {
		_, group, _ = strings.Cut(groups, `"id":"`)
		group, _, _ = strings.Cut(group, `"`)
	}
	must.Do(t, o.console.letters.WriteNote(t.Context(), group, "her name is "+secret, "eve", nil))
	seen := 0
	for _, path := range append(everything(), "/?group="+group) {
		if strings.Contains(o.as(evesToken, path).Body.String(), secret) {
			seen++
		}
		for name, token := range map[string]string{"anna": annasToken, "bob": bobsToken} {
			w := o.as(token, path)
			expect.That(t, !strings.Contains(w.Body.String(), secret) && !strings.Contains(w.Body.String(), "/9CZWVibGVicm94") && w.Code != http.StatusInternalServerError,
				"%s of %s: %d %s", path, name, w.Code, w.Body)
		}
	}
	expect.That(t, seen >= 20, "eve sees the secret at %d addresses", seen)
	for _, path := range []string{"/api/dead-letters?text=Beeble", "/?text=B", "/api/groups?header=raw", "/map?feature=" + secret, "/api/dead-letters/id-a/value", "/change?verb=discard&text=B"} {
		says(t, o.as(annasToken, path), http.StatusForbidden, "are masked for your role")
		says(t, o.as(evesToken, path), http.StatusOK)
	}
	page := o.as(bobsToken, "/dead-letters/id-a").Body.String()
	expect.That(t, strings.Contains(page, "&#34;use&#34;:&#34;kept&#34;") && strings.Contains(page, "Fields are masked for your role") && !strings.Contains(page, "/value"), "%v", page)
}

// The form of a change refuses a filter that guesses; a dry run by another person reveals nothing; and a file without
// the rule shows everything after a restart.
func TestMask_S4_6_in_changes_and_after_a_restart(t *testing.T) {
	o := withSecrets(t, masks)
	o.signIn(annasToken, "/")
	page := o.see("/change?verb=replay&code=invalid_number")
	for _, filter := range []string{`{"text":"Beeble"}`, `{"features":["` + secret + `"]}`, `{"headers":[{"name":"raw"}]}`} {
		for _, to := range []string{"/dry-run", "/change"} {
			says(t, o.send(to, with(form(page), "verb", "discard", "filter", filter, "reason", "x")), http.StatusForbidden, "masked for your role")
		}
	}
	to, _ := o.follows("/dry-run", form(page))
	page = o.until(to, "Expected results")
	expect.That(t, !strings.Contains(page, secret), "%v", page)
	o.stop()
	o.begin = func() *access.Gate {
		return gateOf(t, strings.Replace(tokenFile, "people: [", "people: [{name: eve, role: edit, token_file: eve}, ", 1)+"mask: [/geometry]\nexport: edit\n")
	}
	o.open()
	page = o.as(bobsToken, "/dead-letters/id-a").Body.String()
	expect.That(t, strings.Contains(page, "&#34;owner&#34;:&#34;"+secret) && !strings.Contains(page, "<svg") && !strings.Contains(page, "/api/dead-letters"), "%v", page)
	for path, want := range map[string]int{"/map": 403, "/api/map": 403, "/?bbox=1,1,3,3": 403, "/api/dead-letters": 403, "/api/dead-letters/id-a": 403, "/api/dead-letters/id-a/value": 403, "/api/groups": 200, "/": 200} {
		a, e := o.as(annasToken, path).Code, o.as(evesToken, path).Code
		expect.That(t, a == want && e == http.StatusOK, "%s: %d for anna, %d for eve", path, a, e)
	}
}

// Rules find a path wherever it is, through lists, and by the names that JSON means.
func TestMask_S4_6_finds_paths(t *testing.T) {
	m := mask{{"properties", "owner"}, {"a/b~"}, {"2024", "x"}}
	for path, want := range map[string]bool{
		"/properties/owner": true, "/features/3/properties/owner": true, "/properties/owner/0/first": true, "/properties/7/owner": true, "/properties": false, "/owner": false,
		"/properties/ownership": false, "/xproperties/owner": false, "/a~1b~0": true, "/2024/x": true, "/2024/3/x": true, "/2025/x": true, "": false,
	} {
		expect.That(t, m.covers(path) == want, "%q: %t", path, !want)
	}
	for text, want := range map[string]string{
		`{"properties":[{"owner":1e400}],"n":12345678901234567890,"h":"<&>"}`: `{"h":"<&>","n":12345678901234567890,"properties":[{"owner":"masked"}]}`,
		`{"2024":[{"x":1}],"a/b~":null}`:                                      `{"2024":[{"x":"masked"}],"a/b~":"masked"}`, `"owner"`: `"owner"`, ``: `"masked"`, `{} {}`: `"masked"`, `{"a":`: `"masked"`,
		strings.Repeat("[", 20_000): `"masked"`,
	} {
		expect.Equal(t, string(m.value([]byte(text))), want, text)
	}
	values := []dlq.Value{{Path: "/properties/owner", Text: "1"}, {Path: "/properties/use", Text: `"x"`}, {Path: "/properties", Text: `{"owner":1}`}}
	m.values(values)
	expect.That(t, values[0].Text == masked && values[1].Text == `"x"` && values[2].Text == masked, "%+v", values)
}
