package rewrite

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/replay/patch"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func made(t *testing.T, s Spec) *Rewrite {
	t.Helper()
	return must.Get(New(s))(t)
}

var payment = Record{
	Value: []byte(`{"id":7,"status":"open", "amount":12.50,"lines":[{"sku":"a"},{"sku":"b"}],"odd name":1}`), Key: "k-7", Headers: map[string]string{"tenant": "acme"},
}

// What is not named keeps its bytes: the digits of a number, the order of members, the white space.
func TestApply_S4_8(t *testing.T) {
	t.Parallel()
	const rest = ` "amount":12.50,"lines":[{"sku":"a"},{"sku":"b"}],"odd name":1`
	for name, c := range map[string]struct {
		spec Spec
		want string
	}{
		"set":               {Spec{Set: []string{"status=OPEN"}}, `{"id":7,"status":"OPEN",` + rest + `}`},
		"merge":             {Spec{Merge: json.RawMessage(`{"status":null}`)}, `{"id":7,` + strings.TrimSpace(rest) + `}`},
		"patch":             {Spec{Patch: json.RawMessage(`[{"op":"replace","path":"/id","value":8}]`)}, `{"id":8,"status":"open",` + rest + `}`},
		"expression":        {Spec{Exprs: []string{`value.status = upper(value.status)`}}, `{"id":7,"status":"OPEN",` + rest + `}`},
		"two, in order":     {Spec{Exprs: []string{`value.id = value.id + 1`, `value.status = string(value.id)`}}, `{"id":8,"status":"8",` + rest + `}`},
		"key and header":    {Spec{Exprs: []string{`value.status = key + headers["tenant"]`}}, `{"id":7,"status":"k-7acme",` + rest + `}`},
		"an odd name":       {Spec{Exprs: []string{`value["odd name"] = 2`}}, `{"id":7,"status":"open",` + strings.Replace(rest, `"odd name":1`, `"odd name":2`, 1) + `}`},
		"of a list":         {Spec{Exprs: []string{`value.lines[1].sku = "c"`}}, `{"id":7,"status":"open",` + strings.Replace(rest, `"b"`, `"c"`, 1) + `}`},
		"a whole element":   {Spec{Exprs: []string{`value.lines[0] = 1`}}, `{"id":7,"status":"open",` + strings.Replace(rest, `{"sku":"a"}`, `1`, 1) + `}`},
		"the whole value":   {Spec{Exprs: []string{`value = value.lines`}}, `[{"sku":"a"},{"sku":"b"}]`},
		"a comparison":      {Spec{Exprs: []string{`value.status = value.id == 7 && value.status != "x"`}}, `{"id":7,"status":true,` + rest + `}`},
		"a program":         {Spec{Program: `sed s/open/OPEN/`}, `{"id":7,"status":"OPEN",` + strings.TrimSpace(rest) + `}`},
		"checked by schema": {Spec{Schema: json.RawMessage(`{"required":["id"]}`)}, string(payment.Value)},
	} {
		got, err := made(t, c.spec).Apply(t.Context(), payment)
		var same bool
		if json.Valid(got) {
			same = string(got) == c.want || string(oneLine(got)) == string(oneLine([]byte(c.want)))
		}
		expect.That(t, err == nil && same, "%s: %s, %v\nwant %s", name, got, err, c.want)
	}
}

// A record that gets no value is told why on one line, and it is no fault of the system.
func TestApply_S4_8_saysWhyThereIsNoValue(t *testing.T) {
	t.Parallel()
	noJSON := Record{Value: []byte("\x00\x01")}
	for name, c := range map[string]struct {
		spec Spec
		of   Record
		want string
	}{
		"no such field":       {Spec{Exprs: []string{`value.a.b = 1`}}, payment, "value.a.b = 1"},
		"no such element":     {Spec{Exprs: []string{`value.lines[7] = 1`}}, payment, "value.lines[7] = 1"},
		"no result":           {Spec{Exprs: []string{`value.status = value.id * "x"`}}, payment, "cannot be multiplied"},
		"no JSON":             {Spec{Exprs: []string{`value.status = 1`}}, noJSON, "not JSON"},
		"no JSON for a patch": {Spec{Set: []string{"a=1"}}, noJSON, "not JSON"},
		"a tombstone":         {Spec{Set: []string{"a=1"}}, Record{}, "not JSON"},
		"prints nothing":      {Spec{Program: "true"}, payment, "prints nothing"},
		"fails":               {Spec{Program: "echo no such enum >&2; exit 3"}, payment, "exit status 3: no such enum"},
		"is not there":        {Spec{Program: "no-such-program-anywhere"}, payment, "exit status 127"},
		"prints two":          {Spec{Program: "cat; echo {}"}, payment, "one JSON value"},
		"prints no JSON":      {Spec{Program: "echo done"}, payment, "one JSON value"},
		"prints without end":  {Spec{Program: "yes"}, payment, "prints more than"},
		"takes too long":      {Spec{Program: "sleep 600 & sleep 600", Seconds: 0.05}, payment, "longer than"},
		"leaves a process":    {Spec{Program: "cat; sleep 600 &"}, payment, "still running"},
		"schema":              {Spec{Exprs: []string{`value.id = "x"`}, Schema: json.RawMessage(`{"properties":{"id":{"type":"integer"}}}`)}, payment, "/id: "},
		"schema of no JSON":   {Spec{Schema: json.RawMessage(`true`)}, noJSON, "no JSON"},
	} {
		got, err := made(t, c.spec).Apply(t.Context(), c.of)
		expect.That(t, Refused(err) && strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "\n"), "%s: %s, %v; want %q", name, got, err, c.want)
	}
}

func TestNew_S4_8_refusesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Spec{
		"nothing":              {},
		"two ways":             {Set: []string{"a=1"}, Program: "cat"},
		"no assignment":        {Exprs: []string{"upper(value.a)"}},
		"another name":         {Exprs: []string{"key = 1"}},
		"a comparison":         {Exprs: []string{"value.a == 1"}},
		"no expression":        {Exprs: []string{"value.a ="}},
		"a fault in it":        {Exprs: []string{"value.a = upper("}},
		"a function":           {Exprs: []string{"value.a = now()"}},
		"a large place":        {Exprs: []string{"value[99999999999999999999] = 1"}},
		"a schema that is not": {Schema: json.RawMessage(`{"type":7}`)},
		"a schema elsewhere":   {Schema: json.RawMessage(`{"$ref":"file:///etc/passwd"}`)},
		"a schema on the web":  {Schema: json.RawMessage(`{"$ref":"https://example.org/s.json"}`)},
		"negative time":        {Program: "cat", Seconds: -1},
	} {
		_, err := New(s)
		expect.That(t, err != nil && (errors.Is(err, ErrRewrite) || errors.Is(err, patch.ErrEdit)), "%s: %v", name, err)
	}
}

// A program reads none of the secrets in the environment, and what it starts ends with it.
func TestProgram_S4_8_hasNoSecretsAndLeavesNothing(t *testing.T) {
	t.Setenv("SWITCHBACK_TEST_SECRET", "hunter2")
	file := filepath.Join(t.TempDir(), "alive")
	r := made(t, Spec{Program: `test -z "$SWITCHBACK_TEST_SECRET" || exit 9; (sleep 600; touch ` + file + `) & cat; sleep 600`, Seconds: 0.2})
	got, err := r.Apply(t.Context(), payment)
	expect.That(t, Refused(err) && strings.Contains(err.Error(), "longer than"), "%s, %v", got, err)
	_, err = os.Stat(file)
	expect.That(t, err != nil, "what it started goes on")
}

// A program has no network where the system allows that, and has it when it is said so.
func TestProgram_S4_8_hasNoNetwork(t *testing.T) {
	t.Parallel()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	must.That(t, err == nil, "%v", err)
	program := `bash -c '</dev/tcp/127.0.0.1/` + port + `' && cat`
	open := made(t, Spec{Program: program, Network: true})
	expect.That(t, !open.Isolated(), "it says that there is no network")
	_, err = open.Apply(t.Context(), payment)
	expect.That(t, err == nil, "with the network: %v", err)
	shut := made(t, Spec{Program: program})
	if _, err := shut.Apply(t.Context(), payment); shut.Isolated() != Refused(err) {
		t.Errorf("isolated %v, %v", shut.Isolated(), err)
	}
}

func TestApply_endsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range []Spec{{Program: "sleep 600"}, {Set: []string{"a=1"}}} {
		_, err := made(t, s).Apply(ctx, payment)
		expect.That(t, errors.Is(err, context.Canceled), "%v", err)
	}
}
