package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// serving runs the command until the test ends and returns the address that it printed, and its end.
func serving(t *testing.T, d *desk, args ...string) (address string, stop func() cli.Exit) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, printed := io.Pipe()
	env := d.env
	env.Out, env.Err = printed, io.Discard
	ended := make(chan cli.Exit, 1)
	go func() {
		ended <- Run(ctx, env, d.here(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...))
		_ = printed.Close()
	}()
	line := must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	code, done := cli.Exit(-1), false
	stop = func() cli.Exit {
		if !done {
			cancel()
			code, done = <-ended, true
		}
		return code
	}
	t.Cleanup(func() { stop() })
	return strings.TrimSpace(line), stop
}

// load returns the status and the body of an answer.
func load(t *testing.T, address string) (int, []byte) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody))(t)
	answer := must.Get((&http.Client{Timeout: time.Minute}).Do(r))(t)
	defer answer.Body.Close()
	return answer.StatusCode, must.Get(io.ReadAll(answer.Body))(t)
}

// fetch returns the status and the JSON of an answer.
func fetch(t *testing.T, address string) (status int, out map[string]json.RawMessage) {
	t.Helper()
	status, body := load(t, address)
	must.Do(t, json.Unmarshal(body, &out))
	return status, out
}

// Answers and errors over HTTP are those of the commands.
func TestServe_S4_6_answers_what_the_commands_print(t *testing.T) {
	d := newDesk(t, false).fill()
	address, stop := serving(t, d, "-c", "pipeline.yaml")
	for path, command := range map[string][]string{"stats": {"stats"}, "dead-letters/1-42-cccccccc": {"show", "1-42-cccccccc"}} {
		status, answer := fetch(t, address+"api/"+path)
		d.want(cli.ExitDone, append(command, "-c", "pipeline.yaml")...)
		body := answer["stats"]
		if body == nil {
			body = answer["dead_letter"]
		}
		expect.That(t, status == http.StatusOK && string(body) == strings.TrimSpace(d.out.String()), "%s: %d\n got %s\nwant %s", path, status, body, &d.out)
	}
	for path, command := range map[string][]string{"dead-letters/nobody": {"show", "nobody"}, "replays/nobody": {"replays", "nobody"}} {
		status, answer := fetch(t, address+"api/"+path)
		d.want(cli.ExitNothing, append(command, "-c", "pipeline.yaml")...)
		var said struct {
			Message string
			Exit    cli.Exit
		}
		err := json.Unmarshal(answer["error"], &said)
		expect.That(t, err == nil && status == http.StatusNotFound && said.Exit == cli.ExitNothing && "replayer: "+said.Message+"\n" == d.err.String(), "%s: %d %s, the command says %s", path, status, answer["error"], &d.err)
	}
	expect.Equal(t, stop(), cli.ExitDone, "exit after a signal")
}

func TestServe_S4_6_a_DLQ_without_a_pipeline(t *testing.T) {
	d := newDesk(t, false).fill()
	address, _ := serving(t, d, "--brokers", d.brokers()[0], "--topic", "features.dlq")
	status, answer := fetch(t, address+"api/dead-letters")
	expect.That(t, status == http.StatusOK && string(answer["total"]) == "5", "%d %s", status, answer)
	for _, path := range []string{"api/replays", "api/audit"} { // nobody has changed a dead letter yet
		status, answer := fetch(t, address+path)
		expect.That(t, status == http.StatusOK && answer["error"] == nil, "%s: %d %s", path, status, answer)
	}
}

func TestServe_S4_6_ends_with_the_exit_codes_of_the_others(t *testing.T) {
	d := newDesk(t, false)
	d.want(cli.ExitUsage, "serve", "-c", "pipeline.yaml", "--listen", "0.0.0.0:0")
	said := d.err.String()
	expect.That(t, strings.Contains(said, "--access") && strings.Contains(said, "ssh -L") && d.out.Len() == 0, "%s%s", said, &d.out)
	d.want(cli.ExitUsage, "serve", "--listen", "127.0.0.1:0")
	d.want(cli.ExitRuntime, "serve", "--brokers", d.brokers()[0], "--topic", "feature.dlq", "--listen", "127.0.0.1:0").says("topic does not exist: feature.dlq", "The cluster has features.dlq")
	d.write("dead.sqlite", []byte(strings.Repeat("no database", 4000)))
	d.want(cli.ExitRuntime, "serve", "-c", "pipeline.yaml", "--listen", "127.0.0.1:0", "--index", "dead.sqlite").says("dead.sqlite is damaged")
}

// The file says who may look from elsewhere, and is refused with what is wrong in it before anything is served.
func TestServe_S4_6_for_those_who_may(t *testing.T) {
	d := newDesk(t, false).fill()
	write := func(text string) { d.write("access.yaml", []byte(text)) }
	const people = "people: [{name: anna, role: read, token_env: ANNA}]\n"
	for text, want := range map[string]string{
		"url: http://dlq.example\n" + people: "access.yaml:1:6: url: ", "url: http://localhost\npeople: [{name: a, role: read, token_env: NONE}]\n": "NONE is not set",
		"url: https://dlq.example\ntls: {cert_file: none.pem, key_file: none.pem}\n" + people: "none.pem",
	} {
		write(text)
		d.want(cli.ExitUsage, "serve", "-c", "pipeline.yaml", "--listen", "127.0.0.1:0", "--access", "access.yaml")
		expect.That(t, strings.Contains(d.err.String(), want) && d.out.Len() <= 0, "%s: %s%s", text, &d.err, &d.out)
	}
	write("url: http://127.0.0.1\n" + people)
	d.want(cli.ExitUsage, "serve", "-c", "pipeline.yaml", "--access", "access.yaml", "--actor", "ben")
	d.want(cli.ExitUsage, "serve", "-c", "pipeline.yaml", "--access", "nowhere.yaml")
	d.want(cli.ExitUsage, "serve", "-c", "pipeline.yaml", "--access", "access.yaml", "--listen", "0.0.0.0:0")
	address, _ := serving(t, d, "-c", "pipeline.yaml", "--access", "access.yaml")
	expect.That(t, address == "http://127.0.0.1/", "it says %s", address)
}
