package console

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// passing puts dead letters that today's transform takes.
func (o *operator) passing(letters int) {
	o.t.Helper()
	for i := range letters {
		r := letter(fmt.Sprintf("p-%d", i), i, func(c *header.Control) { c.ErrorCode, c.ErrorMessage = "timeout", "no answer" })
		r.Key, r.Value = []byte{byte('a' + i)}, fmt.Appendf(nil, `{"type":"Feature","id":"P-%d","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`, i)
		o.put(r)
	}
}

// wantBackOnce fails unless the source topic has each dead letter once.
func (o *operator) wantBackOnce(letters int) {
	o.t.Helper()
	back := map[string]int{}
	spans := must.Get(kafka.Spans(o.t.Context(), o.writer, "features"))(o.t)
	must.Do(o.t, kafka.Scan(o.t.Context(), o.writer, "features", spans, func(r *kgo.Record) error {
		back[string(r.Key)]++
		return nil
	}))
	for key, times := range back {
		if times != 1 {
			o.t.Errorf("%q is back %d times", key, times)
		}
	}
	if len(back) != letters {
		o.t.Errorf("%d dead letters are back, not %d: %v", len(back), letters, back)
	}
}

// planned makes a dry run of all dead letters that died of a timeout, and returns the form that carries it out, and where it goes.
func (o *operator) planned(letters int, canary string) (to string, consent url.Values) {
	o.t.Helper()
	to, _ = o.follows("/dry-run", form(o.see("/change?verb=replay&code=timeout")))
	page := o.until(to, fmt.Sprintf(">Replay %d dead letters</button>", letters))
	return to, with(form(page), "reason", "it answers", "typed", fmt.Sprint(letters), "canary", canary)
}

// goesOn carries out what an operation left.
func (o *operator) goesOn(job string, letters int) {
	o.t.Helper()
	to, _ := o.follows("/dry-run", form(o.see("/go-on/"+strings.TrimPrefix(job, "/replays/"))))
	page := o.until(to, fmt.Sprintf(">Replay %d dead letters</button>", letters))
	to, _ = o.follows(to, with(form(page), "reason", "it answers", "typed", fmt.Sprint(letters), "canary", "0"))
	o.until(to, ">done<")
}

// Who loses the permission to write in the middle reads which one and what was done until then; once it is back, the rest goes on.
func TestChanges_S4_6_S4_8_a_permission_is_lost_in_the_middle(t *testing.T) {
	o := newOperator(t, 0)
	o.passing(4)
	to, consent := o.planned(4, "1")
	job, _ := o.follows(to, consent)
	o.until(job, "<dt>Put back</dt><dd>1 of 4 dead letters</dd>")
	fault := o.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "features", Err: kerr.TopicAuthorizationFailed, Count: -1})
	consuming(o.desk) // it finishes the canary
	page := o.until(job, ">Go on with 3 dead letters…</a>")
	for _, want := range []string{"Write topic features", "<dt>Put back</dt><dd>1 of 4 dead letters</dd>", "<dt>Not reached</dt><dd>3</dd>"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %s", want, page)
		}
	}
	o.wantBackOnce(1)
	fault.Remove()
	o.goesOn(job, 3)
	o.wantBackOnce(4)
}

// Two operators carry out their dry runs of the same dead letters: one waits for the other, and each dead letter is back once.
func TestChanges_S4_6_S4_8_two_operators_at_once(t *testing.T) {
	anna := newOperator(t, 0)
	ben := &operator{desk: anna.desk}
	anna.passing(4)
	to, annas := anna.planned(4, "1")
	toBens, bens := ben.planned(4, "0")
	job, _ := anna.follows(to, annas)
	anna.until(job, "<dt>Put back</dt><dd>1 of 4 dead letters</dd>") // nobody finishes the canary
	second, page := ben.follows(toBens, bens)
	if !strings.Contains(page, "once nobody else changes dead letters") {
		t.Error(page)
	}
	anna.wantBackOnce(1)
	if page := ben.see("/"); !strings.Contains(page, "At work: ") || !strings.Contains(page, "anna") {
		t.Error(page)
	}
	ben.follows(job+"/cancel", url.Values{"token": {form(ben.see(job)).Get("token")}})
	ben.until(job, ">cancelled<")
	ben.until(second, ">done<")
	anna.wantBackOnce(4)
}

// away sends the requests of an operator to a server elsewhere.
func (o *operator) away(r *http.Request, address string) *httptest.ResponseRecorder {
	o.t.Helper()
	at := must.Get(url.Parse(address))(o.t)
	body := must.Get(io.ReadAll(r.Body))(o.t)
	out := must.Get(http.NewRequestWithContext(o.t.Context(), r.Method, address+strings.TrimPrefix(r.URL.RequestURI(), "/"), bytes.NewReader(body)))(o.t)
	out.Header = r.Header.Clone()
	if out.Header.Get("Origin") != "" {
		out.Header.Set("Origin", "http://"+at.Host)
	}
	answer := must.Get((&http.Transport{}).RoundTrip(out))(o.t)
	defer answer.Body.Close()
	w := httptest.NewRecorder()
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	must.Get(io.Copy(w, answer.Body))(o.t)
	return w
}

// The server is killed in the middle of a replay and started again: the page says that it stopped and how much is back, and the rest goes on.
func TestServeKilled_S4_6_S4_8_in_the_middle_of_a_replay(t *testing.T) {
	testrun.Nightly(t)
	o := newOperator(t, 0)
	o.passing(6)
	dir := t.TempDir()
	replayer := must.Get(proc.Build(t.Context(), dir, "replayer"))(t)["replayer"]
	file := filepath.Join(dir, "pipeline.yaml")
	must.Do(t, os.WriteFile(file, []byte(o.pipelineFile()), 0o600))
	serve := func() *proc.Process {
		p := proc.Start(t, proc.Spec{Path: replayer, Dir: dir, Args: []string{"serve", "-c", file, "--listen", "127.0.0.1:0", "--allow-changes", "--actor", "anna", "--index", filepath.Join(dir, "index.sqlite")}})
		address := p.WaitFor(t.Context(), t, p.Stdout, regexp.MustCompile(`http://\S+/`))[0]
		o.cookie, o.answers = nil, func(r *http.Request) *httptest.ResponseRecorder { return o.away(r, address) }
		return p
	}
	server := serve()
	to, consent := o.planned(6, "2")
	job, _ := o.follows(to, consent)
	o.until(job, "<dt>Put back</dt><dd>2 of 6 dead letters</dd>")
	if !server.Kill() {
		t.Fatal("the server had ended before")
	}
	serve()
	page := o.until(job, ">Go on with 4 dead letters…</a>")
	if !strings.Contains(page, ">stopped<") || !strings.Contains(page, "killed") {
		t.Error(page)
	}
	o.wantBackOnce(2)
	o.goesOn(job, 4)
	o.wantBackOnce(6)
}
