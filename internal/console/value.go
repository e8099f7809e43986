package console

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

// value sends the original bytes of a dead letter, however large they are. It spools them to a file first, so that a
// fault in the middle is an error and not a shorter value, and a slow client keeps no Kafka record in memory.
func (c *Console) value(w http.ResponseWriter, r *http.Request, q query) (err error) {
	fresh, err := c.reached(r.Context())
	if err != nil {
		return err
	}
	spool, err := os.CreateTemp("", "console-*")
	if err != nil {
		return fmt.Errorf("spool the value of %s: %w", q.id, err)
	}
	defer func() { err = errors.Join(err, spool.Close(), os.Remove(spool.Name())) }()
	done, err := c.letters.CopyOriginal(r.Context(), q.id, spool)
	if err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("spool the value of %s: %w", q.id, err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment")
	h.Set("Content-Length", strconv.FormatInt(done.Bytes, 10))
	h.Set("Switchback-Sha256", done.SHA256)
	h.Set("Switchback-Index-Time", fresh.At)
	_, _ = io.Copy(w, spool) // the client may have gone
	return nil
}
