package console

import (
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
)

// selectionOf returns the filter of those selected dead letters that a verb changes.
func selectionOf(verb string, f deadletters.Filter) (deadletters.Filter, error) {
	if verb != verbReplay {
		return replay.Verb(verb).Selection(f)
	}
	if len(f.Statuses) == 0 && len(f.IDs) == 0 {
		f.Statuses = []deadletters.Status{deadletters.Pending}
	}
	return f, nil
}

// offer is a change that a list offers, and how many dead letters it selects.
type offer struct {
	Verb    string
	Letters int
}

// offersOf lists the changes that select at least one dead letter, given the counts by status.
func offersOf(f deadletters.Filter, states map[deadletters.Status]int) (offers []offer) {
	for _, verb := range append([]replay.Verb{verbReplay}, replay.Verbs()...) {
		o := offer{Verb: string(verb)}
		chosen, err := selectionOf(o.Verb, f)
		for status, n := range states {
			if err == nil && (len(chosen.Statuses) == 0 || slices.Contains(chosen.Statuses, status)) {
				o.Letters += n
			}
		}
		if o.Letters > 0 {
			offers = append(offers, o)
		}
	}
	return offers
}

// LetterOffers lists the possible changes of the page's dead letter.
func (p page) LetterOffers() (verbs []string) {
	verbs = []string{verbReplay}
	for _, verb := range replay.Verbs() {
		if slices.Contains(verb.From(), deadletters.Status(p.Letter.Status)) {
			verbs = append(verbs, string(verb))
		}
	}
	return verbs
}
