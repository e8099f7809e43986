package enrich

import (
	"context"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
)

func TestPool_waiting_ends_with_the_context(t *testing.T) {
	steps := make1(t, stepOf("http://127.0.0.1:1/", func(s *config.EnrichStep) { s.HTTP.MaxConnections = 1 }))
	steps.steps[0].providers[0].turns <- struct{}{} // somebody else has the only connection
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantFailure(t, steps.Apply(ctx, parcel(), ""), classify.RetryBackoff, classify.CodeCanceled, "wait for one of 1 connections")
}
