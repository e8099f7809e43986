package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
)

const paymentSchema = `{"type":"record","name":"Payment","fields":[{"name":"cents","type":"long"},{"name":"status","type":"string"},{"name":"note","type":["null","string"]}]}`

// paymentJSONSchema refers to the schema of a status.
const paymentJSONSchema = `{"type":"object","additionalProperties":false,"properties":{"cents":{"type":"integer"},"status":{"$ref":"status.json"}}}`

const paymentInCurrency = `{"type":"record","name":"Payment","fields":[{"name":"cents","type":"long"},{"name":"status","type":"string"},{"name":"note","type":["null","string"],"default":null},{"name":"currency","type":"string","default":"CHF"}]}`

// registry is one that has the schema of payments under 7 and 8, as JSON Schema under 9, one of protobuf under 10, a JSON Schema that cannot
// be used under 11, and payments with a currency under 13 and 14: the subject payments-value has the latest schema that latest returns.
// A number above 100 is the status of a failure. down fails what is asked for number 8.
func registry(t *testing.T, down *atomic.Bool, latest func() int) string {
	t.Helper()
	avro := fmt.Sprintf(`{"schema":%q}`, paymentSchema)
	inCurrency := fmt.Sprintf(`{"schema":%q}`, paymentInCurrency)
	answers := map[string]string{
		"/schemas/ids/7": avro, "/schemas/ids/8": avro, "/schemas/ids/13": inCurrency, "/schemas/ids/14": inCurrency,
		"/schemas/ids/9":                        fmt.Sprintf(`{"schema":%q,"schemaType":"JSON","references":[{"name":"status.json","subject":"status","version":1}]}`, paymentJSONSchema),
		"/schemas/ids/10":                       `{"schema":"syntax = \"proto3\";","schemaType":"PROTOBUF"}`,
		"/schemas/ids/11":                       `{"schema":"{\"pattern\":\"(?=a)\"}","schemaType":"JSON"}`,
		"/subjects/status/versions/1":           `{"id":12,"schema":"{\"enum\":[\"OPEN\",\"PENDING\"]}","schemaType":"JSON"}`,
		"/subjects/proto-value/versions/latest": `{"subject":"proto-value","version":1,"id":10,"schema":"","schemaType":"PROTOBUF"}`,
		"/subjects/bad-value/versions/latest":   `{"subject":"bad-value"}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		status := http.StatusOK
		switch {
		case r.URL.Path == "/schemas/ids/8" && down.Load():
			status = http.StatusServiceUnavailable
		case r.URL.Path == "/subjects/payments-value/versions/latest":
			id := latest()
			if answer = fmt.Sprintf(`{"subject":"payments-value","version":2,"id":%d,"schema":%q}`, id, paymentInCurrency); id > 100 {
				status, answer = id, `{"error_code":40301,"message":"no"}`
			}
		case !known:
			status, answer = http.StatusNotFound, `{"error_code":40401,"message":"Subject not found"}`
		}
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// payment is a payment as an Avro serializer writes it.
func payment(t *testing.T, schema int, text string) string {
	t.Helper()
	s := must.Get(avro.Parse(paymentSchema))(t)
	value := must.Get(s.AppendText(envelope.AppendConfluent(nil, schema), []byte(text)))(t)
	return string(value)
}

// Values of Avro are shown as JSON, rewritten as JSON and written with their own schema. The plan refuses what the schema does not take,
// and names the field; what no schema of Avro describes is left.
func TestRegistry_C4_avroIsShownAndRewritten(t *testing.T) {
	d, at := payments(t, false)
	var down atomic.Bool
	registry := with(at, "--registry", registry(t, &down, nil))
	d.put(d.died("payments", 0, 1, "a", payment(t, 7, `{"cents":9007199254740993,"status":"OPEN","note":null}`)))
	for i, value := range []string{"\x00\x00\x00\x00\x63abc", "\x00\x00\x00\x00\x07\xff", "\x00\x00\x00\x00\x0a{}", "\x00\x00", "plain"} {
		d.put(d.died("payments", 0, int64(2+i), fmt.Sprint("hostile", i), value))
	}
	d.want(cli.ExitDone, append([]string{"show", "dlq-0-0", "-o", "table"}, registry...)...).said("decoded value", `"status":"OPEN"`)
	d.want(cli.ExitDone, append([]string{"show", "dlq-0-1", "-o", "json"}, registry...)...).said(`"decode_error"`, "99")
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--set", "status=PENDING")...).said("name the registry with --registry")
	d.want(cli.ExitRefused, append([]string{"replay", "-o", "table", "--set", "cents=many"}, registry...)...).said("cents", "0 to put back", "neither Avro nor JSON Schema")
	d.want(cli.ExitRefused, append([]string{"replay", "-o", "table", "--expr", `value.status = value.status == "OPEN" ? "PENDING" : value.status`}, registry...)...).said(`/status: "OPEN" -> "PENDING"`, "1 to put back (payments: 1)", " --registry http")
	d.want(cli.ExitPartly, append([]string{"replay", "--all", "--origin", "payments", "--set", "status=PENDING", "--execute", "--reason", "x", "--create-topics"}, registry...)...)
	sent := d.read("payments")
	expect.That(t, len(sent) == 1 && string(sent[0].Value) == payment(t, 7, `{"cents":9007199254740993,"status":"PENDING","note":null}`), "put back %v", sent)
	d.want(cli.ExitUsage, "list", "-c", "pipeline.yaml", "--registry", "http://x")
}

// Results are held against what the target holds now; a plan keeps the shape that it was made with.
func TestLike_C4_refusesWhatTheTargetDoesNotHold(t *testing.T) {
	d, at := payments(t, false)
	like := func(change string) []string {
		return with(at, "replay", "-o", "table", "--like", "payments", "--merge", change)
	}
	for i := range 2 {
		d.put(d.died("payments", 0, int64(i), fmt.Sprint("k", i), fmt.Sprintf(`{"cents":%d,"lines":[{"n":1}]}`, i)))
	}
	d.want(cli.ExitUsage, like(`{"status":"PAID"}`)...).said("none of the newest records of payments is JSON")
	d.put(value("payments", "t", ""), value("payments", "p", "plain"), value("payments", "a", `{"cents":1,"status":"PAID","lines":[{"n":1,"m":null}],"note":null}`),
		value("payments", "b", `{"cents":2.5,"status":"OPEN","lines":[{"n":2}]}`))
	for change, says := range map[string]string{
		`{"status":"PAID","cents":"many"}`: "values of payments: it does not satisfy the schema: /cents: got string, want number", `{"note":"x"}`: "missing property 'status'",
		`{"status":"PAID","lines":1}`: "/lines: got number, want array",
	} {
		d.want(cli.ExitRefused, like(change)...).said(says, "0 to put back")
	}
	d.want(cli.ExitUsage, with(at, "replay", "--like", "nowhere")...).said("there is no topic nowhere")
	d.want(cli.ExitDone, with(at, "plan", "-f", "fix.plan", "--like", "payments", "--set", "status=PAID")...)
	d.put(value("payments", "c", `{"status":1}`))
	d.want(cli.ExitDone, with(at, "replay", "--plan", "fix.plan", "--execute", "--reason", "x", "--create-topics")...)
	expect.Equal(t, len(d.read("payments")), 7, "records with the two that were put back")
}

// Values behind the id of a JSON Schema are shown as JSON, rewritten, and held against that schema, which names the field.
func TestRegistry_C4_jsonSchemaIsShownAndRewritten(t *testing.T) {
	d, at := payments(t, false)
	var down atomic.Bool
	registry := with(at, "--registry", registry(t, &down, nil))
	d.put(d.died("payments", 0, 1, "a", "\x00\x00\x00\x00\x09"+`{"cents": 9007199254740993, "status": "OPEN"}`))
	for i, value := range []string{"\x00\x00\x00\x00\x09", "\x00\x00\x00\x00\x09{", "\x00\x00\x00\x00\x09" + `{"cents":1e999999999}`, "\x00\x00\x00\x00\x0b{}"} {
		d.put(d.died("payments", 0, int64(2+i), fmt.Sprint("hostile", i), value))
	}
	d.want(cli.ExitDone, append([]string{"show", "dlq-0-0", "-o", "table"}, registry...)...).said("decoded value", `"status": "OPEN"`)
	d.want(cli.ExitRefused, append([]string{"replay", "-o", "table", "--all", "--set", "status=PAID"}, registry...)...).said("/status: value must be one of", "0 to put back", "the bytes after its id are not JSON", "/cents: its exponent", "(?=a)")
	d.want(cli.ExitRefused, append([]string{"replay", "-o", "table", "--all", "--set", "state=PAID"}, registry...)...).said("additional properties 'state' not allowed")
	d.want(cli.ExitPartly, append([]string{"replay", "--all", "--origin", "payments", "--set", "status=PENDING", "--execute", "--reason", "x", "--create-topics"}, registry...)...)
	sent := d.read("payments")
	expect.That(t, len(sent) == 1 && string(sent[0].Value) == "\x00\x00\x00\x00\x09"+`{"cents":9007199254740993,"status":"PENDING"}`, "put back %v", sent)
}

// A registry that goes away in the middle stops the replay: nothing is lost or doubled, and the command that goes on is printed.
func TestRegistry_C4_goesAwayInTheMiddle(t *testing.T) {
	d, at := payments(t, false)
	var down atomic.Bool
	at = append(at, "--registry", registry(t, &down, nil))
	for i := range 6 {
		d.put(d.died("payments", 0, int64(i), fmt.Sprint("k", i), payment(t, 7+i/2%2, fmt.Sprintf(`{"cents":%d,"status":"OPEN","note":null}`, i))))
	}
	down.Store(true)
	d.want(cli.ExitRuntime, with(at, "plan", "-f", "down.plan", "--set", "status=PENDING")...).said("the schema registry cannot be used")
	down.Store(false)
	d.want(cli.ExitDone, with(at, "plan", "-f", "fix.plan", "--set", "status=PENDING")...)
	down.Store(true)
	back := with(at, "replay", "--plan", "fix.plan", "--execute", "--reason", "x", "--create-topics", "-o", "json", "--canary", "2", "--grace", "0s")
	d.want(cli.ExitPartly, back...).said("the schema registry cannot be used", "replayer replay --brokers", "--plan fix.plan")
	var result struct{ Reinjected int }
	d.decode(&result)
	expect.That(t, result.Reinjected == 2 && len(d.read("payments")) == 2, "%+v", result)
	down.Store(false)
	d.want(cli.ExitDone, back...)
	seen := map[string]int{}
	for _, r := range d.read("payments") {
		seen[string(r.Key)]++
	}
	expect.That(t, fmt.Sprint(seen) == "map[k0:1 k1:1 k2:1 k3:1 k4:1 k5:1]", "put back %v", seen)
}

// inCurrency is a payment as the new schema writes it.
func inCurrency(t *testing.T, id int, text string) string {
	t.Helper()
	s := must.Get(avro.Parse(paymentInCurrency))(t)
	text = string(must.Get(s.Complete([]byte(text)))(t))
	return string(must.Get(s.AppendText(envelope.AppendConfluent(nil, id), []byte(text)))(t))
}

// Values of an older schema, of another kind of schema and of none are written with the latest schema of a subject. What that schema does
// not take is left, with the field.
func TestSubject_C4_writesWithItsLatestSchema(t *testing.T) {
	d, at := payments(t, false)
	d.put(
		d.died("payments", 0, 1, "a", payment(t, 7, `{"cents":1,"status":"OPEN","note":{"string":"x"}}`)),
		d.died("payments", 0, 2, "b", "\x00\x00\x00\x00\x09"+`{"cents":2,"status":"OPEN"}`),
		d.died("payments", 0, 3, "c", `{"cents":3,"status":"OPEN","currency":"EUR"}`),
		d.died("payments", 0, 4, "d", `{"cents":4}`),
		d.died("payments", 0, 5, "e", `{"cents":5,"status":"OPEN","fee":1}`),
		d.died("payments", 0, 6, "f", `{"cents":"many","status":"OPEN"}`),
		d.died("payments", 0, 7, "g", inCurrency(t, 13, `{"cents":7,"status":"OPEN","currency":"CHF"}`)),
	)
	d.want(cli.ExitUsage, with(at, "replay", "--subject", "payments-value")...).said("name the registry with --registry")
	at = append(at, "--registry", registry(t, nil, func() int { return 13 }))
	d.want(cli.ExitUsage, with(at, "replay", "--subject", "nobody")...).said(`get the latest schema of "nobody": 404 Subject not found`)
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--subject", "proto-value")...).said("0 to put back", "neither Avro nor JSON Schema")
	d.want(cli.ExitRuntime, with(at, "replay", "--subject", "bad-value")...).said("the schema registry cannot be used", "the answer has no id")
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--all", "--subject", "payments-value")...)
	d.said("changes the schema", "changes nothing", "4 to put back (payments: 4)", "written with schema 13, the latest of subject payments-value", "only found", "fee", "cents", "--subject payments-value")
	d.want(cli.ExitPartly, with(at, "replay", "--all", "--origin", "payments", "--set", "status=PENDING", "--subject", "payments-value", "--execute", "--reason", "x", "--create-topics")...)
	got := map[string]string{}
	for _, r := range d.read("payments") {
		got[string(r.Key)] = string(r.Value)
	}
	expect.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", map[string]string{
		"a": inCurrency(t, 13, `{"cents":1,"status":"PENDING","note":{"string":"x"},"currency":"CHF"}`),
		"b": inCurrency(t, 13, `{"cents":2,"status":"PENDING","currency":"CHF"}`),
		"c": inCurrency(t, 13, `{"cents":3,"status":"PENDING","currency":"EUR"}`),
		"d": inCurrency(t, 13, `{"cents":4,"status":"PENDING","currency":"CHF"}`),
		"g": inCurrency(t, 13, `{"cents":7,"status":"PENDING","currency":"CHF"}`),
	}), "put back")
}

// A plan is carried out with the schema that it foretold. When the subject has another one by then, or may not be read any more, nothing
// else goes back; a new plan goes on with what is left.
func TestSubject_C4_movesOnInTheMiddle(t *testing.T) {
	d, at := payments(t, false)
	asked, moves, latest := 0, 1000, 13
	at = append(at, "--registry", registry(t, nil, func() int {
		if asked++; asked > moves {
			return latest
		}
		return 13
	}))
	for i := range 6 {
		d.put(d.died("payments", 0, int64(i), fmt.Sprint("k", i), payment(t, 7, fmt.Sprintf(`{"cents":%d,"status":"OPEN","note":null}`, i))))
	}
	d.want(cli.ExitDone, with(at, "plan", "-f", "fix.plan", "--subject", "payments-value")...)
	back := with(at, "replay", "--plan", "fix.plan", "--execute", "--reason", "x", "--create-topics", "--canary", "2", "--grace", "0s")
	d.want(cli.ExitUsage, with([]string{"--brokers", at[1], "--topic", paymentsDLT}, "replay", "--plan", "fix.plan", "--execute", "--reason", "x", "--create-topics")...).said("name the registry with --registry")
	moves, latest = 0, 14
	d.want(cli.ExitRuntime, back...).said("the latest schema of subject payments-value is 14, but the plan was made for 13: make a new plan")
	expect.Equal(t, len(d.read("payments")), 0, "records that went back though the subject had moved on")
	asked, moves, latest = 0, 2, http.StatusForbidden // after the first wave
	d.want(cli.ExitPartly, back...).said("the schema registry cannot be used", "--plan fix.plan")
	expect.Equal(t, len(d.read("payments")), 2, "records that went back before the permission went missing")
	asked, moves, latest = 0, 0, 14
	d.want(cli.ExitDone, with(at, "replay", "--all", "--origin", "payments", "--subject", "payments-value", "--execute", "--reason", "x", "--create-topics")...)
	seen := map[string]int{}
	for _, r := range d.read("payments") {
		id, _, _ := envelope.CutConfluent(r.Value)
		seen[fmt.Sprint(string(r.Key), " ", id)]++
	}
	expect.Equal(t, fmt.Sprint(seen), "map[k0 13:1 k1 13:1 k2 14:1 k3 14:1 k4 14:1 k5 14:1]", "put back")
}
