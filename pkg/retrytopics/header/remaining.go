package header

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// Remaining lists the parts of a record that are not finished, and counts the outcomes of the others. A record with some
// finished parts keeps its original bytes on its way through tiers and DLQ; a control header has its remaining parts.
type Remaining struct {
	Of        int   // parts of the record
	Open      []int // indexes of the unfinished parts, ascending
	Delivered int   // parts
	Dead      int   // parts that are dead letters of their own
}

// Has reports whether a part is still open.
func (r *Remaining) Has(index int) bool {
	_, open := slices.BinarySearch(r.Open, index)
	return open
}

// Parts counts the open parts; 0 for a nil Remaining.
func (r *Remaining) Parts() int {
	if r == nil {
		return 0
	}
	return len(r.Open)
}

// bitmapMark starts the form in which every part is a bit, which is shorter if the open parts are scattered.
const bitmapMark = "~"

// maxRemainingBytes is the longest text of the remaining parts: the bitmap of MaxParts parts in base64, and three
// numbers.
const maxRemainingBytes = (MaxParts+23)/24*4 + 40

// String returns 230;delivered;dead;open, where open is 3-5,17 or, if that is shorter, a bitmap in base64.
func (r *Remaining) String() string {
	open := r.Ranges()
	if bits := bitmapMark + base64.RawStdEncoding.EncodeToString(r.bitmap()); len(bits) < len(open) {
		open = bits
	}
	return strings.Join([]string{strconv.Itoa(r.Of), strconv.Itoa(r.Delivered), strconv.Itoa(r.Dead), open}, ";")
}

// Ranges returns the open parts as text, such as 3-5,17.
func (r *Remaining) Ranges() string {
	var text []byte
	for i := 0; i < len(r.Open); i++ {
		first := r.Open[i]
		for i+1 < len(r.Open) && r.Open[i+1] == r.Open[i]+1 {
			i++
		}
		if len(text) > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(first), 10)
		if last := r.Open[i]; last > first {
			text = strconv.AppendInt(append(text, '-'), int64(last), 10)
		}
	}
	return string(text)
}

func (r *Remaining) bitmap() []byte {
	bits := make([]byte, (r.Of+7)/8)
	for _, i := range r.Open {
		bits[i/8] |= 1 << (i % 8)
	}
	return bits
}

// parseRemaining parses what String writes, and returns the reason if it cannot.
func parseRemaining(text string) (*Remaining, string) {
	fields := strings.Split(text, ";")
	if len(text) > maxRemainingBytes || len(fields) != 4 {
		return nil, "not parts;delivered;dead;open"
	}
	var counts [3]int
	for i := range counts {
		n, err := strconv.ParseUint(fields[i], 10, 31)
		if err != nil || n > MaxParts {
			return nil, "a number is not a whole number up to " + strconv.Itoa(MaxParts)
		}
		counts[i] = int(n)
	}
	r := &Remaining{Of: counts[0], Delivered: counts[1], Dead: counts[2]}
	read := ParseRanges
	if bits, isBitmap := strings.CutPrefix(fields[3], bitmapMark); isBitmap {
		fields[3], read = bits, readBitmap
	}
	var ok bool
	if r.Open, ok = read(fields[3], r.Of); !ok || len(r.Open) == 0 {
		return nil, "the open parts are not ascending numbers below " + fields[0]
	}
	if len(r.Open)+r.Delivered+r.Dead > r.Of {
		return nil, "it counts more parts than the record has"
	}
	return r, ""
}

// ParseRanges parses what Ranges writes, for a record with that many parts. ok is false for anything else.
func ParseRanges(text string, of int) (open []int, ok bool) {
	for word := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(word, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 31)
		last, wrong := strconv.ParseUint(to, 10, 31)
		ascends := len(open) == 0 || int(first) > open[len(open)-1]
		if err != nil || wrong != nil || first > last || int(last) >= of || !ascends {
			return nil, false
		}
		for i := int(first); i <= int(last); i++ {
			open = append(open, i)
		}
	}
	return open, true
}

func readBitmap(text string, of int) (open []int, ok bool) {
	bits, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil || len(bits) != (of+7)/8 {
		return nil, false
	}
	for i := range 8 * len(bits) {
		if bits[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		if i >= of {
			return nil, false
		}
		open = append(open, i)
	}
	return open, true
}
