package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
)

// AuditAnswer is a page of the events of the audit topic, or of the actions of each command.
type AuditAnswer struct {
	Fresh   Freshness      `json:"fresh"`
	Events  []audit.Event  `json:"events"`            // the newest first; empty with operations=true
	Actions []audit.Action `json:"actions,omitempty"` // the newest first; with operations=true
	Total   int            `json:"total"`             // entries that the filters select, on all pages
	Next    string         `json:"next,omitempty"`    // cursor of the next page; absent on the last one
}

func (c *Console) audit(ctx context.Context, q query) (AuditAnswer, error) {
	filter := audit.Filter{DeadLetter: q.get("dead_letter"), Operation: q.get("operation")}
	limit, err := q.limit()
	if err != nil {
		return AuditAnswer{}, err
	}
	after, err := parsePlace(q.get("cursor"))
	if err != nil {
		return AuditAnswer{}, err
	}
	if since := q.get("since"); since != "" {
		if filter.Since, err = deadletters.ResolveTime(since, c.now()); err != nil {
			return AuditAnswer{}, usage("since: %w", err)
		}
	}
	out := AuditAnswer{Events: []audit.Event{}}
	if q.get("operations") == "true" {
		found := newest[audit.Action]{limit: limit, after: after, place: placeOfAction}
		_, out.Fresh, err = ask(ctx, c, func(p *pipeline) (any, error) {
			actions, err := p.service.Actions(ctx, filter)
			for _, a := range actions {
				found.add(a)
			}
			return nil, err
		})
		out.Actions, out.Next = found.page()
		out.Total = found.total
		c.maskOf(ctx).actions(out.Actions)
		return out, err
	}
	found := newest[audit.Event]{limit: limit, after: after, place: placeOfEvent}
	_, out.Fresh, err = ask(ctx, c, func(p *pipeline) (any, error) {
		return nil, p.service.AuditEvents(ctx, filter, func(e audit.Event) error {
			found.add(e)
			return nil
		})
	})
	events, next := found.page()
	out.Events, out.Next, out.Total = append(out.Events, events...), next, found.total
	c.maskOf(ctx).events(out.Events)
	return out, err
}

// place is the position of an entry of the audit topic among all entries, newest first.
type place struct {
	at, seq int64  // Unix milliseconds, and the place in a chain
	of      any    // distinguishes it from other entries of the same moment
	hash    string // hash of of, once it is computed
}

func placeOfEvent(e *audit.Event) place {
	return place{at: e.Time.UnixMilli(), seq: e.Place.Seq, of: e}
}

// placeOfAction ignores changes while the command runs.
func placeOfAction(a *audit.Action) place {
	return place{at: a.Began.UnixMilli(), of: []string{a.Operation, a.By, a.User, a.Reason}}
}

func (p place) digest() string {
	if p.hash != "" {
		return p.hash
	}
	text, _ := json.Marshal(p.of) // it was decoded from JSON
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func (p place) compare(q place) int {
	if c := cmp.Or(cmp.Compare(q.at, p.at), cmp.Compare(q.seq, p.seq)); c != 0 {
		return c
	}
	return strings.Compare(p.digest(), q.digest())
}

// String returns the cursor of the page after the place.
func (p place) String() string { return fmt.Sprintf("%d.%d.%s", p.at, p.seq, p.digest()) }

// parsePlace parses a cursor. It returns nil for the first page.
func parsePlace(text string) (*place, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nothing is before the first page
	}
	var p place
	if _, err := fmt.Sscanf(text, "%d.%d.%16s", &p.at, &p.seq, &p.hash); err != nil || p.String() != text {
		return nil, usage("cursor: %q does not belong to this list; use next of the previous page", text)
	}
	return &p, nil
}

// newest selects one page of many entries. It keeps at most twice its limit in memory.
type newest[T any] struct {
	limit int
	after *place // nil is the first page
	place func(*T) place

	total int // entries so far, including those before the page
	kept  []T
	older bool // there are older entries than those kept
}

func (n *newest[T]) add(entry T) {
	n.total++
	if n.after != nil && n.place(&entry).compare(*n.after) <= 0 {
		return
	}
	if n.kept = append(n.kept, entry); len(n.kept) >= 2*n.limit {
		n.cut()
	}
}

// cut sorts the entries, newest first, and drops those beyond the limit.
func (n *newest[T]) cut() {
	slices.SortStableFunc(n.kept, func(a, b T) int { return n.place(&a).compare(n.place(&b)) })
	if len(n.kept) > n.limit {
		n.kept, n.older = n.kept[:n.limit], true
	}
}

// page returns the entries and the cursor of the next page, or "" on the last one.
func (n *newest[T]) page() (entries []T, next string) {
	if n.cut(); n.older {
		next = n.place(&n.kept[n.limit-1]).String()
	}
	return n.kept, next
}
