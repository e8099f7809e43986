package replay

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/control"
)

// openKeys loads the keys that sign replays, from the environment or else from the control topic. It creates a key in
// the control topic if there is none. Each session calls it again, so that the signature uses the consumers' current
// key.
func (s *Service) openKeys(ctx context.Context) error {
	if len(s.given) > 0 {
		s.keys.Set(s.given)
		return nil
	}
	keys, err := control.Keys(ctx, s.opts, s.cfg.Topics.Control, s.now())
	if err != nil {
		return fmt.Errorf("the key that signs replays cannot be read from %s (`consumer topics ensure` creates the topic, which this command reads and writes; or set SWITCHBACK_REPLAY_KEY): %w",
			s.cfg.Topics.Control, err)
	}
	s.keys.Set(keys)
	return nil
}

// sign adds the proof that this replayer wrote the record. A record for another topic needs none: there it is not a
// replay.
func (s *Service) sign(r *kgo.Record) error {
	if r.Topic == s.cfg.Source.Topic && !s.keys.Sign(r) {
		return fmt.Errorf("no key to sign a replay for %s", r.Topic)
	}
	return nil
}
