package demo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/demo"
	"github.com/switchback-geo/switchback/internal/devbroker"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// shortStory is the demo's story at twenty times its speed. The outage is longer than the first two tiers together, so
// some records meet it three times.
func shortStory() demo.Story {
	story := timelessStory()
	story.Script.OutageAfter, story.Script.OutageFor = 150*time.Millisecond, 750*time.Millisecond
	return story
}

// timelessStory has no outage. The service's behaviour then depends only on seed, feature and attempt, so the same
// records reach the same tiers on the slowest machine. With this seed, none of the first 800 features fails five times.
func timelessStory() demo.Story {
	jitter := 50 * time.Millisecond
	return demo.Story{
		Pace:   demo.Pace{Burst: 300 * time.Millisecond, Share: 0.5, Spread: 600 * time.Millisecond},
		Script: demo.Script{Seed: 1, Unavailable: 0.2, TooMany: 0.01, RetryAfter: time.Second, Slow: 0.02, SlowFor: 50 * time.Millisecond},
		Tiers:  []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second}, Jitter: &jitter,
	}
}

// nothing is an environment without variables, so that a developer's own variables do not change the story.
func nothing(string) string { return "" }

// screen collects output, and closes seen when a text has appeared.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	want string
	seen chan struct{}
}

func newScreen(want string) *screen { return &screen{want: want, seen: make(chan struct{})} }

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := strings.Contains(s.text.String(), s.want)
	n, err := s.text.Write(p)
	if !had && strings.Contains(s.text.String(), s.want) {
		close(s.seen)
	}
	return n, err
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestRun plays the whole story on 800 real events and checks it from outside while the demo stays.
func TestRun(t *testing.T) {
	t.Parallel()       // nearly all of its time is waiting
	const events = 800 // including three counties with an invalid geometry and three with a malformed ring
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := newScreen("Ctrl-C ends the demo")
	ended := make(chan error, 1)
	metrics := must.Get(testrun.FreeAddress())(t)
	go func() {
		ended <- demo.Run(ctx, demo.Options{
			Events: events, Stdout: out, Stderr: io.Discard,
			MetricsListen: metrics, Env: nothing, Story: timelessStory(),
		})
	}()
	select {
	case <-out.seen:
	case err := <-ended:
		t.Fatalf("the demo ended with %v after:\n%s", err, out)
	case <-time.After(testrun.Patient(time.Minute)):
		t.Fatalf("the demo is not through after a minute:\n%s", out)
	}
	t.Run("screen", func(t *testing.T) { checkScreen(t, out.String()) })
	file := regexp.MustCompile(`replayer groups -c (\S+)`).FindStringSubmatch(out.String())
	must.That(t, file != nil, "the screen does not name the pipeline file:\n%s", out)
	cfg, err := config.Load(file[1])
	must.That(t, err == nil, "the pipeline file that the screen names does not load: %v", err)
	t.Run("conservation", func(t *testing.T) { checkConservation(t, cfg, events) })
	t.Run("metrics", func(t *testing.T) { checkMetrics(t, metrics) })
	console := regexp.MustCompile(`In a browser: http://(\S+)/\n`).FindStringSubmatch(out.String())
	must.That(t, console != nil, "the screen does not show the address of the console:\n%s", out)
	t.Run("console", func(t *testing.T) { checkConsole(t, console[1]) })
	cancel()
	expect.Do(t, <-ended, "after Ctrl-C at the end")
	for what, address := range map[string]string{"broker": cfg.Kafka.Brokers[0], "console": console[1]} {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Errorf("the %s outlives the demo", what)
		}
	}
}

func checkScreen(t *testing.T, text string) {
	for _, tier := range []string{"demo.retry-100ms", "demo.retry-400ms"} {
		m := regexp.MustCompile(regexp.QuoteMeta(tier) + ` +([\d,]+) retried`).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("the screen does not show %s", tier)
		} else if n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", "")); n == 0 {
			t.Errorf("nothing was retried through %s", tier)
		}
	}
	for _, want := range []string{
		"FIRST PASS: 800 events", "geometry_invalid", "geometry_structure", "3 would pass now, 3 would fail again",
		"SECOND PASS: 3 dead letters replayed, 3 left", "× 503", "place_name", "replayer groups -c", "kcat -b 127.0.0.1:",
		"Died:  3 geometry_invalid, 3 geometry_structure.", "Fixed: geometry.validity", "3 replayed and delivered, 3 still dead",
	} {
		expect.That(t, strings.Contains(text, want), "the screen does not show %q", want)
	}
	expect.That(t, strings.Count(text, "  PROVEN: each of 800 records is in exactly one place\n") == 3, "the screen does not show the verdict of verify after each pass and at the end")
	report, _, _ := strings.Cut(text, "Everything is still there") // commands with paths follow
	for line := range strings.Lines(report) {
		n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
		expect.That(t, n <= 79, "%d columns: %s", n, line)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// checkConservation compares the demo's numbers with those of the test kit, which shares no code with verify.
func checkConservation(t *testing.T, cfg *config.Config, events int) {
	account := must.Get(conservation.Take(t.Context(), topiclog.Connect(t, cfg.Kafka.Brokers), conservation.Pipeline{
		Source: cfg.Source.Topic, Output: cfg.Output.Topic, DLQ: cfg.Topics.DLQ, Audit: cfg.Topics.Audit,
		Group: cfg.Source.Group, Tiers: cfg.TierTopics(),
	}))(t)
	account.Verify(t)
	inputs, sum := account.Totals()
	expect.That(t, inputs == events && sum.Output == events-3 && sum.DeadLetters == 6 && sum.Replays == 3 && sum.Waiting+sum.Unread == 0, "%d inputs, %+v", inputs, sum)
}

func checkMetrics(t *testing.T, address string) {
	checkPages(t, address, map[string]string{"/metrics": "switchback_records_delivered_total", "/healthz": "ok"})
}

// checkConsole checks the pages of the console.
func checkConsole(t *testing.T, address string) {
	checkPages(t, address, map[string]string{"/": "3 pending dead letters", "/replays": "consumer demo", "/audit": "flagged now instead of rejected"})
}

// checkPages requests pages, each of which must contain a text.
func checkPages(t *testing.T, address string, pages map[string]string) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for path, want := range pages {
		res := must.Get(client.Get("http://" + address + path))(t)
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		expect.That(t, err == nil && res.StatusCode == http.StatusOK && strings.Contains(string(body), want), "%s: status %d, %v, without %q", path, res.StatusCode, err, want)
	}
}

func TestRun_exit_leaves(t *testing.T) {
	t.Parallel()
	if usual, err := net.Listen("tcp", demo.UsualConsole); err == nil { // otherwise another process uses it
		defer usual.Close()
	}
	var stdout, stderr bytes.Buffer
	err := demo.Run(t.Context(), demo.Options{Events: 20, Exit: true, Stdout: &stdout, Stderr: &stderr, Env: nothing, Story: shortStory()})
	must.That(t, err == nil, "%v\n%s", err, &stderr)
	expect.That(t, strings.Contains(stderr.String(), "EMBEDDED BROKER") && strings.Contains(stdout.String(), "SECOND PASS"), "banner or report is missing:\n%s%s", &stderr, &stdout)
}

func TestRun_refuses(t *testing.T) {
	t.Parallel()
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	brokers := func(name string) string {
		return map[string]string{"SWITCHBACK_KAFKA_BROKERS": "kafka.example:9092"}[name]
	}
	for name, c := range map[string]struct {
		options demo.Options
		want    []string
		as      any
	}{
		"the broker's port":       {demo.Options{KafkaPort: port}, []string{strconv.Itoa(port), "in use", "--port"}, new(*devbroker.PortError)},
		"the console's port":      {demo.Options{ConsoleListen: taken.Addr().String()}, []string{strconv.Itoa(port), "in use", "--console"}, new(*devbroker.PortError)},
		"a console for everybody": {demo.Options{ConsoleListen: "0.0.0.0:0"}, []string{"loopback"}, nil},
		"the metrics' port":       {demo.Options{MetricsListen: taken.Addr().String(), Events: 1}, []string{strconv.Itoa(port), "in use", "--metrics"}, nil},
		"real brokers":            {demo.Options{Env: brokers}, []string{"kafka.example:9092"}, new(*devbroker.RealBrokersError)},
		"a negative event number": {demo.Options{Events: -1}, []string{"-1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if c.options.Env == nil {
				c.options.Env = nothing
			}
			err := demo.Run(t.Context(), c.options)
			must.That(t, err != nil && (c.as == nil || errors.As(err, c.as)), "got %v, want a %T", err, c.as)
			for _, want := range c.want {
				expect.That(t, strings.Contains(err.Error(), want), "%q does not contain %q", err, want)
			}
		})
	}
}

func TestRun_interrupted_before_the_end(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	out := newScreen("events are on their way")
	ended := make(chan error, 1)
	go func() { ended <- demo.Run(ctx, demo.Options{Stderr: out, Env: nothing}) }()
	<-out.seen
	because := errors.New("somebody pressed Ctrl-C")
	cancel(because)
	err := <-ended
	expect.That(t, errors.Is(err, demo.ErrInterrupted) && errors.Is(err, because), "got %v, want ErrInterrupted with its cause", err)
}
