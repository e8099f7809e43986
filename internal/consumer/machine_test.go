package consumer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

func TestMachine_S3_3_defersWhatEveryRecordWouldMeet(t *testing.T) {
	dial := func(errno syscall.Errno) error {
		return fmt.Errorf("place: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", errno)})
	}
	for _, c := range []struct {
		err  error
		held bool
	}{
		{dial(syscall.EMFILE), true}, {dial(syscall.ENFILE), true}, {dial(syscall.ENOMEM), true}, {dial(syscall.ENOBUFS), true},
		{dial(syscall.ECONNREFUSED), false}, {dial(syscall.EIO), false}, {errors.New("too many open files"), false}, {nil, false},
	} {
		m := &machine{log: slog.New(slog.DiscardHandler)}
		_, err := m.guard(func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
			return retrytopics.Result{}, c.err
		})(t.Context(), nil)
		held, is := errors.AsType[*retrytopics.UnavailableError](err)
		expect.That(t, is == c.held && errors.Is(err, c.err), "%v became %v", c.err, err)
		expect.That(t, !is || strings.Contains(held.Error(), "machine") || strings.Contains(held.Error(), "process"), "%v does not say what is lacking", held)
	}
}

func TestMachine_S3_3_probesEverMoreRarelyAndTellsOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		m := &machine{log: slog.New(slog.NewJSONHandler(&said, nil))}
		var failure error = syscall.EMFILE
		handle := m.guard(func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
			return retrytopics.Result{}, failure
		})
		probes, last := 0, time.Duration(0)
		for began := time.Now(); time.Since(began) < 10*time.Minute; probes++ {
			_, err := handle(t.Context(), nil)
			held, ok := errors.AsType[*retrytopics.UnavailableError](err)
			must.That(t, ok, "got %v", err)
			_, err = handle(t.Context(), nil)
			must.That(t, errors.Is(err, syscall.EMFILE) && errors.As(err, &held) && m.probes == probes+1, "one that failed beside it counts as a probe: %v", err)
			wait := time.Until(held.RetryAt)
			must.That(t, wait >= last && wait <= longestProbe, "probe %d after %s, the one before after %s", probes, wait, last)
			last = wait
			time.Sleep(wait)
		}
		lines := strings.Count(said.String(), "\n")
		expect.That(t, probes <= 40 && lines <= 11, "%d probes, %d lines in ten minutes", probes, lines)
		failure = nil
		_, err := handle(t.Context(), nil)
		expect.That(t, err == nil && m.probes == 0 && strings.Contains(said.String(), "enough again"), "%v, %d probes: %s", err, m.probes, &said)
	})
}

// S3-7: energy is CPU seconds times watts, CO2 is energy times the grid's intensity, shared among the attempts.
func TestMeter_S3_7_sharesMeasuredCPUSeconds(t *testing.T) {
	spent := time.Duration(0)
	m := &meter{rule: config.Energy{WattsPerCPU: 36, GridGramsPerKWh: 500}, cpu: func() (time.Duration, bool) { return spent, true }}
	spent = 20 * time.Second // 36 W for 20 s are 0.2 Wh, 0.1 g
	got := m.share(4)
	expect.That(t, got.measured && math.Abs(got.wattHours-0.05) <= 1e-12 && math.Abs(got.grams-0.025) <= 1e-12, "%+v", got)
	got = m.share(1)
	expect.That(t, got.wattHours == 0, "nothing was spent since: %+v", got)
	m.rule.WattsPerCPU = 0
	got = m.share(1)
	expect.That(t, !got.measured, "nobody asked: %+v", got)
}
