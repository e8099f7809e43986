package console

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

const (
	// keptLists is how many pages have their lists cached, and keptFor for how long. The time limit is for changes
	// without a record of the DLQ or the status topic: notes of other operators, shares of the traffic, and ages.
	keptLists = 8
	keptFor   = time.Minute
)

// lists are the content of the home page from the index, besides the statistics.
type lists struct {
	Groups  GroupsAnswer
	Chosen  *chosen // group
	Letters LettersAnswer
	Offers  []offer // changes of the listed dead letters
}

// keptPage is the cached lists of one address, as of an index.
type keptPage struct {
	address string
	masked  bool
	offsets map[string]int64 // up to which the topics were indexed
	at      time.Time
	lists   *lists
}

// keeper caches the lists of the latest pages, because a page that refreshes itself asks again and again, and usually
// nothing has changed. A group of 100,000 dead letters takes half a second of processor time. It is safe for concurrent
// use.
type keeper struct {
	mu    sync.Mutex
	pages []keptPage // latest last
}

// find returns the cached lists of a page, or nil if there are none or they are too old.
func (k *keeper) find(like keptPage) *lists {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pages {
		if p.address == like.address && p.masked == like.masked && maps.Equal(p.offsets, like.offsets) && like.at.Sub(p.at).Abs() < keptFor {
			return p.lists
		}
	}
	return nil
}

func (k *keeper) keep(p keptPage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pages = slices.DeleteFunc(k.pages, func(old keptPage) bool { return old.address == p.address && old.masked == p.masked })
	k.pages = append(k.pages[max(0, len(k.pages)+1-keptLists):], p)
}

// forget clears the cache, so that the next page shows what was just changed.
func (k *keeper) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pages = nil
}

func (c *Console) homePage(ctx context.Context, q query) (page, error) {
	out := c.blank("/", "Dead letters")
	out.Query, out.Live = q.values, liveHome
	listed := q.filled()
	if _, _, err := listed.page(c.now()); err != nil {
		return page{}, err
	}
	var err error
	if out.Fresh, err = c.index.fresh(ctx); err != nil {
		return page{}, err
	}
	stats, err := c.letters.Stats(ctx)
	if err != nil {
		return page{}, err
	}
	out.Stats, out.State = dlq.NewStatsJSON(stats, c.now()), c.state(ctx)
	now := keptPage{address: listed.values.Encode(), masked: c.maskOf(ctx) != nil, offsets: out.Fresh.Offsets, at: c.now()}
	if out.lists = c.kept.find(now); out.lists != nil {
		return out, nil
	}
	if out.lists, err = c.listsOf(ctx, out.Fresh, listed); err != nil {
		return page{}, err
	}
	if now.lists = out.lists; out.Chosen == nil || out.Chosen.ValuesErr == "" {
		c.kept.keep(now)
	}
	return out, nil
}

// listsOf asks the index for the lists of the home page.
func (c *Console) listsOf(ctx context.Context, fresh Freshness, listed query) (*lists, error) {
	selected, after, err := listed.page(c.now())
	if err != nil {
		return nil, err
	}
	selected.Limit = pageRows
	out := new(lists)
	if out.Groups, err = c.groupsOf(ctx, fresh, dlqindex.Query{Filter: deadletters.Filter{Limit: defaultLimit}}, listed.get("groups")); err != nil {
		return nil, err
	}
	slices.SortStableFunc(out.Groups.Groups, func(a, b dlq.GroupJSON) int { // groups with pending dead letters first
		return cmp.Compare(b.Statuses[string(deadletters.Pending)], a.Statuses[string(deadletters.Pending)])
	})
	if ids := listed.values["group"]; len(ids) == 1 {
		out.Chosen = c.chosenOf(ctx, out.Groups.Groups, ids[0])
	}
	if out.Letters, err = c.pageOf(ctx, fresh, selected, after); err != nil || c.changes == nil {
		return out, err
	}
	states := out.Letters.byState
	if states == nil {
		states, err = c.letters.ByState(ctx, selected)
	}
	selected.Limit = 0
	out.Offers = offersOf(selected.Filter, states)
	return out, err
}
