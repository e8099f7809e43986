package kafka_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/kafka"
)

func TestFor_waits_its_time_or_until_the_context_ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := kafka.Pause(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("%s, %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began = time.Now()
		if err := kafka.Pause(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("%s, %v", time.Since(began), err)
		}
	})
}
