package avro

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// logical is a supported logical type. The empty value stands for every other one.
type logical string

const (
	logicalDecimal     logical = "decimal"
	logicalUUID        logical = "uuid"
	logicalDate        logical = "date"
	logicalTimeMilli   logical = "time-millis"
	logicalTimeMicro   logical = "time-micros"
	logicalStampMilli  logical = "timestamp-millis"
	logicalStampMicro  logical = "timestamp-micros"
	logicalStampNano   logical = "timestamp-nanos"
	logicalLocalMilli  logical = "local-timestamp-millis"
	logicalLocalMicro  logical = "local-timestamp-micros"
	logicalLocalNano   logical = "local-timestamp-nanos"
	logicalDuration    logical = "duration"
	durationBytes              = 12
	uuidBytes                  = 16
	maxDecimalBytes            = 512
	maxDecimalScale            = 1000
	microsPerSecond            = 1_000_000
	millisecondsPerDay         = 24 * 60 * 60 * 1000
)

// setLogical sets the logical type of n if the schema names a supported one that fits the type.
func setLogical(n *node, v transform.Value) {
	word, _ := v.Member("logicalType")
	l := logical(word.Text())
	fits := false
	switch l {
	case logicalDecimal:
		fits = (n.kind == kindBytes || n.kind == kindFixed) && setScale(n, v)
	case logicalUUID:
		fits = n.kind == kindString || n.kind == kindFixed && n.size == uuidBytes
	case logicalDate, logicalTimeMilli:
		fits = n.kind == kindInt
	case logicalTimeMicro, logicalStampMilli, logicalStampMicro, logicalStampNano, logicalLocalMilli, logicalLocalMicro, logicalLocalNano:
		fits = n.kind == kindLong
	case logicalDuration:
		fits = n.kind == kindFixed && n.size == durationBytes
	}
	if fits {
		n.logical = l
	}
}

// setScale reads the precision and scale of a decimal. It reports whether both are valid.
func setScale(n *node, v transform.Value) bool {
	precisionValue, _ := v.Member("precision")
	precision, err := strconv.Atoi(precisionValue.Text())
	if err != nil || precision < 1 {
		return false
	}
	if scale, ok := v.Member("scale"); ok {
		if n.scale, err = strconv.Atoi(scale.Text()); err != nil {
			n.scale = -1
		}
	}
	return 0 <= n.scale && n.scale <= min(precision, maxDecimalScale)
}

// decimalText returns a two's complement number as decimal text with its decimal point.
func decimalText(raw []byte, scale int) string {
	unscaled := new(big.Int).SetBytes(raw)
	if len(raw) > 0 && raw[0]&0x80 != 0 {
		unscaled.Sub(unscaled, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw)))) //nolint:gosec // at most maxDecimalBytes
	}
	text := unscaled.Text(10)
	if scale == 0 {
		return text
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	if missing := scale + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	return sign + text[:len(text)-scale] + "." + text[len(text)-scale:]
}

// integerText returns the text of an int or a long with a logical type. is reports whether l is a logical type of
// integers. It refuses times that RFC 3339 cannot express.
func integerText(l logical, i int64) (text string, is bool, err error) {
	var t time.Time
	layout := "2006-01-02T15:04:05.999999999"
	switch l {
	case logicalDate:
		t, layout = time.Unix(0, 0).UTC().AddDate(0, 0, int(i)), time.DateOnly
	case logicalTimeMilli:
		return clock(i*1000, i >= 0 && i < millisecondsPerDay)
	case logicalTimeMicro:
		return clock(i, i >= 0 && i < millisecondsPerDay*1000)
	case logicalStampMilli, logicalLocalMilli:
		t = time.UnixMilli(i).UTC()
	case logicalStampMicro, logicalLocalMicro:
		t = time.UnixMicro(i).UTC()
	case logicalStampNano, logicalLocalNano:
		t = time.Unix(i/1e9, i%1e9).UTC()
	default:
		return "", false, nil
	}
	if l == logicalStampMilli || l == logicalStampMicro || l == logicalStampNano {
		layout += "Z07:00"
	}
	if year := t.Year(); year < 0 || year > 9999 {
		return "", true, fmt.Errorf("the year %d has no form in RFC 3339", year)
	}
	return t.Format(layout), true, nil
}

// clock returns the text of a time of day. It refuses a time that is not inside one day.
func clock(micros int64, inside bool) (string, bool, error) {
	if !inside {
		return "", true, fmt.Errorf("a time of day is beyond 24 hours")
	}
	t := time.UnixMicro(micros).UTC()
	return t.Format("15:04:05.999999"), true, nil
}

// bytesText returns the text of bytes with a logical type. It reports false if the type has no logical type of bytes, or
// if a decimal is longer than maxDecimalBytes.
func bytesText(n *node, raw []byte) (string, bool) {
	switch n.logical {
	case logicalDecimal:
		if len(raw) > maxDecimalBytes {
			return "", false
		}
		return decimalText(raw, n.scale), true
	case logicalUUID:
		digits := hex.EncodeToString(raw)
		return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:], true
	case logicalDuration:
		months, days, millis := binary.LittleEndian.Uint32(raw), binary.LittleEndian.Uint32(raw[4:]), binary.LittleEndian.Uint32(raw[8:])
		return fmt.Sprintf("P%dM%dDT%d.%03dS", months, days, millis/1000, millis%1000), true
	default:
		return "", false
	}
}
