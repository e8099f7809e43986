package conservation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The headers of the contract (architecture, section 5) are repeated here on purpose: a wrong constant in the software
// must not pass its own check.
const (
	headerPrefix = "switchback-"
	headerSource = "switchback-source"
	headerLetter = "switchback-dead-letter-id"
	headerReplay = "switchback-replay-id"
	headerPart   = "switchback-part"
	headerRest   = "switchback-rest"
)

// Pipeline has the names of the topics and the group of the pipeline to check.
type Pipeline struct {
	Source, Output, DLQ, Audit, Group string
	Tiers                             []string
}

// Place counts the places of one input record. A replayed record is counted by its first appearance.
type Place struct {
	Unread      int // in the source, not yet committed by the group
	Waiting     int // in a tier, not yet committed by the group
	Output      int
	DeadLetters int // dead letters written
	Replays     int // dead letters reinjected into the source
	Closed      int // audited as duplicate, superseded, filtered or skipped
}

// Places returns the number of places that have the record. Any number but one is a fault.
func (p Place) Places() int {
	return p.Unread + p.Waiting + p.Output + (p.DeadLetters - p.Replays) + p.Closed
}

// Account is the content of the topics, by input record.
type Account struct {
	places   map[string]*Place        // by the position of the first appearance
	source   map[string]*kgo.Record   // every source record by position
	trail    map[string][]*kgo.Record // every record of every topic, by the same key as places
	parts    map[string]bool          // outputs that are parts of a record, by position and part
	partial  map[string]bool          // records of which some parts ended before others, by the same key as places
	reopened map[string]int           // replays for which closed dead letters were reopened, by the same key as places
	faults   []Fault
}

// Fault is a violation of a guarantee by one record.
type Fault struct {
	Source string // position of the input record, "" if the record names none
	What   string
}

// Take reads the pipeline's topics. seen has records that the test saw earlier and that may have been deleted: the
// consumer deletes the finished records of a tier.
func Take(ctx context.Context, c *topiclog.Cluster, p Pipeline, seen ...*kgo.Record) (*Account, error) {
	committed, err := c.Committed(ctx, p.Group)
	if err != nil {
		return nil, err
	}
	logs := map[string][]*kgo.Record{}
	for _, name := range append([]string{p.Source, p.Output, p.DLQ, p.Audit}, p.Tiers...) {
		if name == "" {
			continue
		}
		if logs[name], err = c.Read(ctx, name); err != nil {
			return nil, err
		}
	}
	return Of(p, logs, committed, seen...), nil
}

// Of is Take for topics that were already read: their records by topic, in the order of their offsets, and the group's
// offsets by topic and partition.
func Of(p Pipeline, logs map[string][]*kgo.Record, committed map[string]map[int32]int64, seen ...*kgo.Record) *Account {
	a := &Account{places: map[string]*Place{}, source: map[string]*kgo.Record{}, trail: map[string][]*kgo.Record{}, parts: map[string]bool{}, partial: map[string]bool{}, reopened: map[string]int{}}
	for _, r := range logs[p.Source] {
		a.addSource(r, open(r, committed))
	}
	for _, tier := range p.Tiers {
		for _, r := range logs[tier] {
			a.addWaiting(r, open(r, committed))
		}
	}
	for _, r := range logs[p.DLQ] {
		a.addLetter(r)
	}
	for _, r := range logs[p.Output] {
		a.addOutput(r)
	}
	for _, r := range logs[p.Audit] {
		a.addAudit(r)
	}
	for _, r := range seen {
		a.addSeen(r)
	}
	a.count()
	return a
}

// open reports whether the group has not committed the record.
func open(r *kgo.Record, committed map[string]map[int32]int64) bool {
	at, ok := committed[r.Topic][r.Partition]
	return !ok || r.Offset >= at
}

func (a *Account) addSource(r *kgo.Record, open bool) {
	position := topiclog.Position(r)
	a.source[position] = r
	root := a.root(position)
	if a.places[root] == nil {
		a.places[root] = &Place{}
	}
	if root != position {
		a.places[root].Replays++
	}
	if open {
		a.places[root].Unread++
	}
	a.trail[root] = append(a.trail[root], r)
}

// root returns the position of a record's first appearance, which is in a header of a replayed dead letter.
func (a *Account) root(position string) string {
	r := a.source[position]
	if r == nil {
		return position
	}
	first, n := topiclog.Header(r, headerSource)
	_, replayed := topiclog.Header(r, headerReplay)
	if n == 0 || replayed == 0 {
		return position
	}
	return partOf(r, first)
}

// partOf returns the key of a part with its own dead letter, which has its own place from then on. It returns the
// position if there is no such part.
func partOf(r *kgo.Record, position string) string {
	if part, n := topiclog.Header(r, headerPart); n > 0 {
		return position + "#" + part
	}
	return position
}

// of finds the input record of a record and adds the record to its trail.
func (a *Account) of(r *kgo.Record) (place *Place, from string) {
	from, n := topiclog.Header(r, headerSource)
	root := a.rootOf(r, from)
	place = a.places[root]
	if n != 1 || place == nil {
		a.fault("", "%s names %d times an input record, %q, that is not in the source:\n%s", topiclog.Position(r), n, from, topiclog.Describe(r))
		return &Place{}, from
	}
	a.trail[root] = append(a.trail[root], r)
	if _, rest := topiclog.Header(r, headerRest); rest > 0 {
		a.partial[root] = true
	}
	return place, from
}

// rootOf returns the key of the place to which a record of another topic than the source belongs.
func (a *Account) rootOf(r *kgo.Record, from string) string {
	if own := partOf(r, from); a.places[own] != nil {
		return own
	}
	return a.root(from)
}

func (a *Account) addWaiting(r *kgo.Record, open bool) {
	place, from := a.of(r)
	if open {
		place.Waiting++
	}
	a.checkCopy(r, from)
}

func (a *Account) addOutput(r *kgo.Record) {
	place, from := a.of(r)
	root := a.rootOf(r, from)
	if a.firstOf(r, root) {
		place.Output++
	}
	a.checkHeaders(r, root)
}

// firstOf reports whether an output counts. The first output of a record's parts counts for all of them, and a
// repeated part is a fault. Only the test that sent the parts can find out whether one is missing.
func (a *Account) firstOf(r *kgo.Record, root string) bool {
	part, n := topiclog.Header(r, headerPart)
	if n == 0 {
		return true
	}
	if key := root + " " + part; a.parts[key] {
		a.fault(root, "part %s is in the output twice", part)
	} else {
		a.parts[key] = true
	}
	first := !a.parts[root]
	a.parts[root] = true
	return first
}

func (a *Account) addLetter(r *kgo.Record) {
	first, _ := topiclog.Header(r, headerSource)
	if own := partOf(r, first); own != first && a.places[own] == nil && a.places[first] != nil {
		a.places[own] = &Place{}
		a.partial[first] = true
	}
	place, from := a.of(r)
	place.DeadLetters++
	if _, n := topiclog.Header(r, headerLetter); n != 1 {
		a.fault(a.rootOf(r, from), "dead letter %s has %d headers %s", topiclog.Position(r), n, headerLetter)
	}
	a.checkCopy(r, from)
}

// closing are the audited decisions that end a record's journey without a record in the output topic or the DLQ.
var closing = []string{"duplicate", "superseded", "filtered", "skipped"}

// reopening is the text in the audit trail of an operator's reopening of a closed dead letter.
const reopening = ": superseded -> pending by "

func (a *Account) addAudit(r *kgo.Record) {
	var event struct{ Decision, Source, Part, Message string }
	if err := json.Unmarshal(r.Value, &event); err != nil {
		a.fault("", "audit event %s is not JSON: %v", topiclog.Position(r), err)
		return
	}
	root := a.root(event.Source)
	if own := event.Source + "#" + event.Part; a.places[own] != nil {
		root = own
	}
	place := a.places[root]
	if place == nil {
		if event.Source != "" {
			a.fault("", "audit event %s refers to %q, which is not in the source", topiclog.Position(r), event.Source)
		}
		return
	}
	if slices.Contains(closing, event.Decision) {
		place.Closed++
	}
	if strings.Contains(event.Message, reopening) {
		a.reopened[root]++
	}
	a.trail[root] = append(a.trail[root], r)
}

func (a *Account) addSeen(r *kgo.Record) {
	from, _ := topiclog.Header(r, headerSource)
	root := a.rootOf(r, from)
	for _, known := range a.trail[root] {
		if topiclog.Position(known) == topiclog.Position(r) {
			return
		}
	}
	if a.places[root] != nil {
		a.trail[root] = append(a.trail[root], r)
	}
}

func (a *Account) count() {
	for root, place := range a.places {
		n := place.Places()
		if a.partial[root] && place.Output == 1 && n == 2 {
			n = 1 // some parts are in the output, and the others where the remaining record is
		}
		if n != 1 {
			a.fault(root, "is in %d places: %+v", n, *place)
		} else if place.Replays > place.DeadLetters+a.reopened[root] {
			a.fault(root, "was put back more often than it died or was reopened: %+v", *place)
		}
	}
}

func (a *Account) fault(source, format string, args ...any) {
	a.faults = append(a.faults, Fault{Source: source, What: fmt.Sprintf(format, args...)})
}

func own(header kgo.RecordHeader) bool { return strings.HasPrefix(header.Key, headerPrefix) }
