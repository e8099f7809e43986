package replay

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/control"
)

// openKeys takes up the keys that sign replays: those of the environment, else those of the control topic, which gets one when it has
// none. It is read again in each session, so that a replay is signed with the key that the consumers have now.
func (s *Service) openKeys(ctx context.Context) error {
	if len(s.given) > 0 {
		s.keys.Set(s.given)
		return nil
	}
	keys, err := control.Keys(ctx, s.opts, s.cfg.Topics.Control, s.now())
	if err != nil {
		return fmt.Errorf("the key that signs replays is in %s (`consumer topics ensure` makes the topic; this command reads and writes it), or in SWITCHBACK_REPLAY_KEY: %w",
			s.cfg.Topics.Control, err)
	}
	s.keys.Set(keys)
	return nil
}

// sign proves to the consumer that this replayer wrote a record. Another topic is another pipeline's: there it is no replay.
func (s *Service) sign(r *kgo.Record) error {
	if r.Topic == s.cfg.Source.Topic && !s.keys.Sign(r) {
		return fmt.Errorf("no key to sign a replay for %s", r.Topic)
	}
	return nil
}
