package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
)

const paymentInCurrency = `{"type":"record","name":"Payment","fields":[{"name":"cents","type":"long"},{"name":"status","type":"string"},{"name":"note","type":["null","string"],"default":null},{"name":"currency","type":"string","default":"CHF"}]}`

// subjects is a registry whose subject payments-value has the latest schema that latest returns: the first one, 7, has no currency, 13 and
// 14 have one. latest may return another status instead.
func subjects(t *testing.T, latest func() int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/subjects/payments-value/versions/latest":
			if id := latest(); id > 100 {
				w.WriteHeader(id)
				fmt.Fprint(w, `{"error_code":40301,"message":"no"}`)
			} else {
				fmt.Fprintf(w, `{"subject":"payments-value","version":2,"id":%d,"schema":%q}`, id, paymentInCurrency)
			}
		case "/subjects/proto-value/versions/latest":
			fmt.Fprint(w, `{"subject":"proto-value","version":1,"id":10,"schema":"","schemaType":"PROTOBUF"}`)
		case "/subjects/bad-value/versions/latest":
			fmt.Fprint(w, `{"subject":"bad-value"}`)
		case "/schemas/ids/7":
			fmt.Fprintf(w, `{"schema":%q}`, paymentSchema)
		case "/schemas/ids/9":
			fmt.Fprint(w, `{"schema":"{}","schemaType":"JSON"}`)
		case "/schemas/ids/10":
			fmt.Fprint(w, `{"schema":"syntax = \"proto3\";","schemaType":"PROTOBUF"}`)
		case "/schemas/ids/13", "/schemas/ids/14":
			fmt.Fprintf(w, `{"schema":%q}`, paymentInCurrency)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error_code":40401,"message":"Subject not found"}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
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
	d.want(cli.ExitUsage, with(at, "replay", "--subject", "payments-value")...)
	d.said("name the registry with --registry")
	at = append(at, "--registry", subjects(t, func() int { return 13 }))
	d.want(cli.ExitUsage, with(at, "replay", "--subject", "nobody")...)
	d.said(`get the latest schema of "nobody": 404 Subject not found`)
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--subject", "proto-value")...)
	d.said("0 to put back", "neither Avro nor JSON Schema")
	d.want(cli.ExitRuntime, with(at, "replay", "--subject", "bad-value")...)
	d.said("the schema registry cannot be asked", "the answer has no id")
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
	at = append(at, "--registry", subjects(t, func() int {
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
	d.want(cli.ExitUsage, with([]string{"--brokers", at[1], "--topic", paymentsDLT}, "replay", "--plan", "fix.plan", "--execute", "--reason", "x", "--create-topics")...)
	d.said("name the registry with --registry")
	moves, latest = 0, 14
	d.want(cli.ExitRuntime, back...)
	d.said("the latest schema of subject payments-value is 14, and the plan was made for 13: make a new plan")
	expect.Equal(t, len(d.read("payments")), 0, "records that went back though the subject had moved on")
	asked, moves, latest = 0, 2, http.StatusForbidden // after the first wave
	d.want(cli.ExitPartly, back...)
	d.said("the schema registry cannot be asked", "--plan fix.plan")
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
