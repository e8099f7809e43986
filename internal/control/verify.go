package control

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/chain"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Chain says what is left of the chain of orders.
type Chain struct {
	Entries int64 // that are there
	First   int64 // number of the first of them; 0 when there is none
	Head    int64 // number of the latest order, as the control topic has it
}

// Missing says what is not there of a chain that holds otherwise; "" when all of it is. Retention may have taken it, or a
// person: the topics do not tell.
func (c Chain) Missing() string {
	switch {
	case c.Entries == 0 && c.Head > 0:
		return fmt.Sprintf("all of its %d entries are gone (by the audit topic's retention, or somebody emptied it)", c.Head)
	case c.First > 1:
		return fmt.Sprintf("entries 1 to %d are gone (by the audit topic's retention, or somebody cut it off)", c.First-1)
	}
	return ""
}

// Verify holds the chain of orders in the audit topic against its hashes and its head. The error wraps chain.ErrBroken when it
// does not hold.
func Verify(ctx context.Context, connection []kgo.Opt, cfg *config.Config) (Chain, error) {
	view, err := Read(ctx, connection, cfg.Topics.Control) // first, so that what is ordered meanwhile does not look like a gap
	if err != nil {
		return Chain{}, err
	}
	client, err := kgo.NewClient(connection...)
	if err != nil {
		return Chain{}, fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	spans, err := kafka.DecidedSpans(ctx, client, cfg.Topics.Audit)
	if err != nil {
		return Chain{}, err
	}
	own := map[int32]kafka.Span{chainPartition: spans[chainPartition]}
	out, links := Chain{Head: view.Head.Seq}, chain.Verifier{}
	err = kafka.Scan(ctx, client, cfg.Topics.Audit, own, func(r *kgo.Record) error {
		link, entry, ok, err := audit.OrderEntry(r.Value)
		if err == nil && ok {
			err = links.Check(link, entry)
		}
		if err != nil {
			return fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if !ok || link.Seq > view.Head.Seq {
			return nil
		}
		out.Entries++
		if out.First == 0 {
			out.First = link.Seq
		}
		if link.Seq == view.Head.Seq && link != view.Head {
			return links.End(view.Head)
		}
		return nil
	})
	last := links.Last().Seq
	switch {
	case err != nil:
	case last > view.Head.Seq: // ordered since the head was read, or the head was taken away
		err = ordered(ctx, connection, cfg, &links)
	case out.Entries > 0 && last < view.Head.Seq:
		err = links.End(view.Head)
	}
	return out, err
}

// ordered holds entries behind the head that was read against the one that is there now: it is that of the last, or of a later one.
func ordered(ctx context.Context, connection []kgo.Opt, cfg *config.Config, links *chain.Verifier) error {
	now, err := Read(ctx, connection, cfg.Topics.Control)
	if err == nil && now.Head.Seq <= links.Last().Seq {
		err = links.End(now.Head)
	}
	return err
}
