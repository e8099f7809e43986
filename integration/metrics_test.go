package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

var served = regexp.MustCompile(`"msg":"metrics served".*"address":("[^"]+")`)

// S2-7: the running consumer says how it is and what it has done; the figures are
// those of the topics.
func TestMetrics_S2_7(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute, func(s *settings) { s.Metrics = "127.0.0.1:0" }).ensure()
	p.places.Script("once", misbehave.Status(503))
	p.places.Script("gone", misbehave.Status(404))
	consumer := p.start("it")
	address := p.address(consumer)
	if code, body := p.get(address, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d %s", code, body)
	}
	eventually.Until(p.ctx, t, "/readyz to say 200", func() (bool, string) {
		code, body := p.get(address, "/readyz")
		return code == http.StatusOK, fmt.Sprint(code, " ", body)
	})
	p.send("well", "once", "gone")
	for _, line := range []string{
		`switchback_records_consumed_total{pipeline="[^"]+"} 3`,
		`switchback_records_delivered_total{pipeline="[^"]+"} 2`,
		`switchback_records_retried_total{pipeline="[^"]+",tier="` + regexp.QuoteMeta(p.topics.Tiers[0]) + `"} 1`,
		`switchback_records_dead_lettered_total{category="request",code="http_not_found",pipeline="[^"]+",priority="P4"} 1`,
		`switchback_dead_letters_pending{pipeline="[^"]+"} 1`,
		`go_goroutines{pipeline="[^"]+"} \d+`,
	} {
		whole := regexp.MustCompile("(?m)^" + line + "$")
		eventually.Until(p.ctx, t, "the metric "+line, func() (bool, string) {
			_, body := p.get(address, "/metrics")
			return whole.MatchString(body), body
		})
	}
	p.stop(consumer)
}

// get asks the consumer's HTTP server; a failure is an answer with code 0.
func (p *pipe) get(address, path string) (code int, body string) {
	req, err := http.NewRequestWithContext(p.ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// address is where a consumer serves its metrics.
func (p *pipe) address(consumer *proc.Process) (address string) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(consumer.WaitFor(p.ctx, p.t, consumer.Stderr, served)[1]), &address); err != nil {
		p.t.Fatal(err)
	}
	return address
}

var abortedTransactions = regexp.MustCompile(`switchback_transactions_total\{outcome="aborted"\} (\d+)`)

// aborts is how many transactions the consumer there has aborted.
func (p *pipe) aborts(address string) int {
	_, body := p.get(address, "/metrics")
	found := abortedTransactions.FindStringSubmatch(body)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}
