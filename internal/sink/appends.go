package sink

import (
	"sync/atomic"
	"time"
)

// appends decides whether the next batch is likely to consist of keys that are not there yet, by what the batches before were.
type appends struct {
	mostly atomic.Bool  // new keys, in the batch that was written last
	until  atomic.Int64 // Unix nanoseconds; nothing is appended before
}

// appendPause is how long nothing is appended after that failed: the table has rows that the guard does not know.
const appendPause = time.Minute

// likely says whether to append.
func (a *appends) likely() bool {
	return a.mostly.Load() && time.Now().UnixNano() >= a.until.Load()
}

// learn notes how many rows of a batch had new keys. Where fewer are, looking for them costs more than it saves.
func (a *appends) learn(fresh, rows int) { a.mostly.Store(5*fresh >= 4*rows) }

// wrong notes that appending failed.
func (a *appends) wrong() { a.until.Store(time.Now().Add(appendPause).UnixNano()) }
