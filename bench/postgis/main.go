package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "postgis:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct{ rows, slice, rounds, batch, connections, writers int }

// phase is a version of every parcel to write, and how often that version has been written.
type phase struct {
	name    string
	version int
}

func phases() []phase {
	return []phase{{"insert", 1}, {"update", 2}, {"duplicate", 2}}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("postgis", flag.ContinueOnError)
	flags.IntVar(&o.rows, "rows", 50_000, "parcels")
	flags.IntVar(&o.slice, "slice", 5_000, "events that one of both writes before it is the other's turn")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds, each with new tables")
	flags.IntVar(&o.batch, "batch", 500, "rows of a batch of the hand-written loop; the sink has its default, which is 500")
	flags.IntVar(&o.connections, "connections", 4, "connections of the hand-written loop; the sink has its default, which is 4")
	flags.IntVar(&o.writers, "writers", 2064, "records that wait for the sink concurrently, as in a consumer with its defaults")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dsn := os.Getenv(dsnEnv)
	if dsn == "" {
		return errors.New("set " + dsnEnv + " to a database with PostGIS that may be filled, such as postgres://user@127.0.0.1:5432/bench")
	}
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return fmt.Errorf("%s: %w", dsnEnv, err)
	}
	defer pool.Close()
	ratios := map[string][]float64{}
	for round := range o.rounds {
		if err := o.round(ctx, pool, dsn, round, out, ratios); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nsink / by hand, %d rounds: least, median, most\n", o.rounds)
	for _, p := range phases() {
		r := slices.Sorted(slices.Values(ratios[p.name]))
		fmt.Fprintf(out, "%-10s %.2f  %.2f  %.2f\n", p.name, r[0], r[len(r)/2], r[len(r)-1])
	}
	return nil
}

// round writes every phase once with both, alternating.
func (o options) round(ctx context.Context, pool *pgxpool.Pool, dsn string, number int, out io.Writer, ratios map[string][]float64) error {
	cfg, err := tables(ctx, pool, "bench_sink", "bench_by_hand")
	if err != nil {
		return err
	}
	hand, err := newByHand(ctx, dsn, "bench_by_hand", o.batch, o.connections)
	if err != nil {
		return err
	}
	defer hand.pool.Close()
	bySink, err := newBySink(cfg, o.writers)
	if err != nil {
		return err
	}
	defer bySink.sink.Close()
	for _, p := range phases() {
		var took [2]time.Duration
		batches := bySink.sink.Status().Batches
		for from := 0; from < o.rows; from += o.slice {
			events := slice(from, min(o.slice, o.rows-from), o.rows, p.version)
			turns := []func(context.Context, []event) (time.Duration, error){hand.write, bySink.write}
			for i := range turns {
				who := (i + from/o.slice + number) % 2
				d, err := turns[who](ctx, events)
				if err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				took[who] += d
			}
		}
		rate := func(who int) float64 { return float64(o.rows) / took[who].Seconds() }
		batches = bySink.sink.Status().Batches - batches
		fmt.Fprintf(out, "round %d  %-10s by hand %6.0f rows/s   sink %6.0f rows/s   %.2f   %d rows a batch\n",
			number+1, p.name, rate(0), rate(1), rate(1)/rate(0), o.rows/int(batches))
		ratios[p.name] = append(ratios[p.name], rate(1)/rate(0))
	}
	return o.verify(ctx, pool)
}

// verify checks that both tables have the same content.
func (o options) verify(ctx context.Context, pool *pgxpool.Pool) error {
	var rows, differ int
	const ask = "select count(*), count(*) filter (where row(a.*)::record *<> row(b.*)::record) from bench_sink a full join bench_by_hand b using (id)"
	if err := pool.QueryRow(ctx, ask).Scan(&rows, &differ); err != nil {
		return fmt.Errorf("compare the tables: %w", err)
	}
	if rows != o.rows || differ > 0 {
		return fmt.Errorf("%d rows, %d of them differ", rows, differ)
	}
	return nil
}
