package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestSchema_S0_1_printsThePublishedOne(t *testing.T) {
	want := must.Get(os.ReadFile("../../schemas/pipeline.schema.json"))(t)
	code, stdout, stderr := call("schema")
	expect.That(t, code == 0 && stdout == string(want) && stderr == "", "exit %d, %d bytes of %d\n%s", code, len(stdout), len(want), stderr)
	expect.That(t, json.Valid([]byte(stdout)), "it is no JSON")
	code, _, stderr = call("schema", "now")
	expect.That(t, code == 2 && strings.Contains(stderr, `unexpected word "now"`), "exit %d: %s", code, stderr)
}

// A disk that is full must not leave half a schema and a good exit code.
func TestSchema_saysWhenItCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full to write to:", err)
	}
	defer full.Close()
	var errs strings.Builder
	code := run([]string{"schema"}, full, &errs)
	expect.That(t, code == 1 && strings.Contains(errs.String(), "print the schema"), "exit %d: %s", code, &errs)
}
