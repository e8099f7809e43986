package attempt

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

var (
	errNow   = errors.New("at once")
	errLater = errors.New("later")
)

func classified(err error) classify.Failure {
	if errors.Is(err, errNow) {
		return classify.Failure{Class: classify.RetryNow, Err: err}
	}
	return classify.Failure{Class: classify.RetryBackoff, Err: err}
}

func caller(log *bytes.Buffer) *Caller {
	return &Caller{callerConfig: callerConfig{Limit: 10 * time.Second, Classify: classified, Logger: slog.New(slog.NewTextHandler(log, nil))}}
}

func TestCaller_repeatsWhatIsRetriedNow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []error // the last one is repeated
		calls   int
		want    error
	}{
		"a success":             {[]error{nil}, 1, nil},
		"another failure":       {[]error{errLater}, 1, errLater},
		"a success after one":   {[]error{errNow, nil}, 2, nil},
		"another one after two": {[]error{errNow, errNow, errLater}, 3, errLater},
		"always":                {[]error{errNow}, 1 + maxImmediate, errNow},
	} {
		calls := 0
		got := caller(&bytes.Buffer{}).Call(t.Context(), time.Now(), func(context.Context) error {
			calls++
			return c.answers[min(calls, len(c.answers))-1]
		})
		expect.That(t, calls == c.calls && errors.Is(got, c.want), "%s: %d calls, error %v; want %d and %v", name, calls, got, c.calls, c.want)
	}
}

// S4-15: a panic is a failure of its record. The log names the record.
func TestCaller_S4_15_aPanicIsAnError(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := caller(&log)
	c.Begin(&header.Position{Topic: "in", Partition: 1, Offset: 7})
	err := c.Call(t.Context(), time.Now(), func(context.Context) error { panic("no") })
	_, is := errors.AsType[*classify.PanicError](err)
	expect.That(t, is && strings.Contains(log.String(), "source=in/1/7"), "error %v, log %s", err, &log)
}

// A handler that ignores the end of its context is reported, and logged once a minute.
func TestCallers_findAHandlerThatRunsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := caller(&log)
		all := Callers{caller(&log), c}
		at := header.Position{Topic: "in", Partition: 0, Offset: 7}
		c.Begin(&at)
		ctx, stop := context.WithCancel(t.Context())
		go all.Watch(ctx)
		time.Sleep(c.Limit + stuckGrace)
		expect.Equal(t, len(all.Stuck(time.Now())), 0, "stuck within its time")
		time.Sleep(2 * time.Minute)
		stuck := all.Stuck(time.Now())
		expect.That(t, len(stuck) == 1 && stuck[0].Source == at && stuck[0].For == c.Limit+stuckGrace+2*time.Minute, "stuck %+v", stuck)
		c.End()
		expect.Equal(t, len(all.Stuck(time.Now())), 0, "stuck after its end")
		stop()
		synctest.Wait()
		expect.Equal(t, strings.Count(log.String(), "ignores the end of its context"), 2, "log lines")
	})
}
