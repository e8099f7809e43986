package avro_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
)

type vector struct {
	Name, Schema, Canonical, Fingerprint, Data string
	JSON                                       string `json:"json"`
}

// vectors are schemas and data as fastavro writes them (testdata/vectors.py).
func vectors(t testing.TB) []vector {
	t.Helper()
	var file struct{ Vectors []vector }
	read(t, "testdata/vectors.json", &file)
	must.That(t, len(file.Vectors) >= 7, "only %d vectors", len(file.Vectors))
	return file.Vectors
}

func read(t testing.TB, name string, into any) {
	t.Helper()
	text := must.Get(os.ReadFile(name))(t)
	must.Do(t, json.Unmarshal(text, into))
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	return must.Get(hex.DecodeString(text))(t)
}

func parse(t testing.TB, text string) *avro.Schema {
	t.Helper()
	return must.Get(avro.Parse(text))(t)
}

// TestVectors: the canonical form, the fingerprint and the data of fastavro.
func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			s := parse(t, v.Schema)
			expect.Equal(t, s.Canonical(), v.Canonical, "canonical form")
			expect.Equal(t, s.Fingerprint().String(), v.Fingerprint, "fingerprint")
			value := must.Get(s.Decode(unhex(t, v.Data), avro.Limits{}))(t)
			expect.Equal(t, string(value.AppendJSON(nil)), v.JSON, "data")
			// The form has no word for "no namespace", so inside of one a bare name means another type. That is the
			// specification's gap, and every implementation has it.
			bare := strings.Contains(v.Canonical, `"Bare"`)
			again := parse(t, s.Canonical())
			expect.That(t, bare || again.Canonical() == s.Canonical(), "the canonical form of the canonical form is %s", again.Canonical())
		})
	}
}

// TestFingerprint_of_another_implementation: the header of what twmb/avro writes
// (testdata/twmb) names the same schema.
func TestFingerprint_of_another_implementation(t *testing.T) {
	var objects map[string]string
	read(t, "testdata/single_objects.json", &objects)
	for _, v := range vectors(t) {
		object := unhex(t, objects[v.Name])
		fingerprint := parse(t, v.Schema).Fingerprint()
		want := "c301" + fingerprint.String()
		expect.That(t, hex.EncodeToString(object[:10]) == want, "%s: twmb begins with %x, want %s", v.Name, object[:10], want)
	}
}

// TestFingerprint_with_a_logical_type is the schema for which goavro and twmb
// were found to differ: its logical type must not count.
func TestFingerprint_with_a_logical_type(t *testing.T) {
	with := parse(t, `{"type":"record","name":"Event","namespace":"geo","fields":[{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}}]}`)
	without := parse(t, `{"type":"record","name":"geo.Event","fields":[{"name":"at","type":"long"}]}`)
	expect.That(t, with.Fingerprint() == without.Fingerprint(), "%s and %s", with.Fingerprint(), without.Fingerprint())
}
