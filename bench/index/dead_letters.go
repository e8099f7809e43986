package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// causes returns the cause of a dead letter. A few causes are frequent and many are rare, as in production.
func causes(i int) (code, stage, message string) {
	switch {
	case i%10 < 6:
		return "coercion_failed", "transform", fmt.Sprintf(`property "fee": "N/A" is no number (feature P-%d)`, i)
	case i%10 < 9:
		return "geometry_invalid", "gate", fmt.Sprintf("ring %d crosses itself near %d.5 47.1", i%7, i%180)
	default:
		return "missing_required", "validate", fmt.Sprintf("property %q is missing", "field_"+string(rune('a'+i%26))+string(rune('a'+i/26%26)))
	}
}

// fill produces the dead letters and their states, and returns the number of states.
func fill(ctx context.Context, cl *kgo.Client, src dlqindex.Source, o options, begin time.Time) (int, error) {
	var failed atomic.Pointer[error]
	produce := func(r *kgo.Record) {
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		})
	}
	states := 0
	for i := range o.deadLetters {
		at := begin.Add(time.Duration(float64(o.span) * float64(i) / float64(o.deadLetters))).Truncate(time.Millisecond)
		produce(deadLetter(src.DLQ, i, at))
		if float64(i%1000) < o.states*1000 {
			states++
			produce(state(src.Status, i, at))
		}
		if failed.Load() != nil {
			break
		}
	}
	if err := cl.Flush(ctx); err != nil {
		return states, err
	}
	if err := failed.Load(); err != nil {
		return states, *err
	}
	return states, nil
}

func id(i int) string {
	return fmt.Sprintf("%d-%d-%08x", i%partitions, i/partitions, uint32(i)*2654435761)
}

// runOf returns the run of the pipeline that produced a dead letter.
func runOf(i int) string { return fmt.Sprintf("run-%d", i/10_000) }

// traceparent returns the producer's trace header of a dead letter.
func traceparent(i int) string {
	return fmt.Sprintf("00-4bf92f3577b34da6%016x-00f067aa0ba902b7-01", uint64(i)*0x9e3779b97f4a7c15)
}

// deadLetter returns a dead letter with a parcel in Austria or a road. Positions go from west to east repeatedly.
func deadLetter(topic string, i int, at time.Time) *kgo.Record {
	west, south := 9.5+float64(i%7919)*7.5/7919, 46.4+float64(i%677)*2.5/677
	east, north := west+0.001, south+0.001
	value := fmt.Sprintf(`{"type":"Feature","id":"P-%d","geometry":{"type":"Polygon","coordinates":[[[%.5f,%.5f],[%.5f,%.5f],[%.5f,%.5f],[%.5f,%.5f],[%.5f,%.5f]]]},`+
		`"properties":{"parcel":"AT-%d","fee":"N/A","owner":"somebody of street %d","area":%d}}`,
		i, west, south, east, south, east, north, west, north, west, south, i, i%977, i%5000)
	code, stage, message := causes(i)
	pipeline := "parcels"
	if i%10 == 3 {
		pipeline = "roads"
	}
	c := header.Control{
		Attempt: 1, MaxAttempts: 5, FirstFailedAt: at, FailedAt: at, SourceTimestamp: at, ErrorClass: "row", ErrorCode: code, ErrorStage: stage,
		ErrorMessage: message, Source: header.Position{Topic: "features", Partition: int32(i % partitions), Offset: int64(i / partitions)},
		HasSource: true, ContentHash: idempotency.Of([]byte(value)).String(), FeatureID: fmt.Sprintf("P-%d", i),
		BBox: fmt.Sprintf("%.5f,%.5f,%.5f,%.5f", west, south, east, north), RunID: runOf(i), Pipeline: pipeline, DeadLetterID: id(i),
	}
	return &kgo.Record{
		Topic: topic, Partition: int32(i % partitions), Key: fmt.Appendf(nil, "P-%d", i), Value: []byte(value), Timestamp: at,
		Headers: c.AppendTo([]kgo.RecordHeader{{Key: "traceparent", Value: []byte(traceparent(i))}}),
	}
}

func state(topic string, i int, at time.Time) *kgo.Record {
	statuses := deadletters.Statuses()
	return deadletters.State{
		ID: id(i), Status: statuses[i%len(statuses)], ReprocessCount: i % 2, Reason: "bench", By: "bench", At: at.Add(time.Hour),
	}.Record(topic, int32(i%partitions))
}
