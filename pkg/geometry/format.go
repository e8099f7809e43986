package geometry

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// Format is a form in which a record carries a geometry.
type Format string

// The forms. WKB and WKT are those of OGC 06-103r4 (ISO 19125-1), EWKB and EWKT
// the extended ones of PostGIS.
const (
	WKB        Format = "wkb"
	WKBHex     Format = "wkb_hex"
	WKBBase64  Format = "wkb_base64"
	EWKB       Format = "ewkb"
	EWKBHex    Format = "ewkb_hex"
	EWKBBase64 Format = "ewkb_base64"
	WKT        Format = "wkt"
	EWKT       Format = "ewkt"
)

// Formats lists every [Format].
func Formats() []Format {
	return []Format{WKB, WKBHex, WKBBase64, EWKB, EWKBHex, EWKBBase64, WKT, EWKT}
}

// dialect returns the format without the encoding of its bytes.
func (f Format) dialect() Format {
	switch f {
	case WKBHex, WKBBase64:
		return WKB
	case EWKBHex, EWKBBase64:
		return EWKB
	default:
		return f
	}
}

// Decode reads one geometry, which must be all of data. The errors are [*Error], also for a format that is none of
// [Formats]. data is not retained.
func Decode(format Format, data []byte, limits Limits) (Geometry, error) {
	binary := data
	var err error
	switch format {
	case WKBHex, EWKBHex:
		binary, err = hex.AppendDecode(nil, data)
	case WKBBase64, EWKBBase64:
		binary, err = base64.StdEncoding.Strict().AppendDecode(nil, data)
	default: // as they are
	}
	if err != nil {
		return Geometry{}, &Error{Code: classify.CodeWKBMalformed, Format: format, Rule: RuleTextEncoding, Value: shorten.Text(data), Err: err,
			Message: "the bytes are not written as " + string(format) + " wants them: " + err.Error(),
			Fix:     "hexadecimal has no prefix, base64 is the padded one of RFC 4648 section 4; or name another format"}
	}
	switch format.dialect() {
	case WKB, EWKB:
		return decodeBinary(format, binary, limits.withDefaults())
	case WKT, EWKT:
		return decodeText(format, data, limits.withDefaults())
	default:
		return Geometry{}, &Error{Code: classify.CodeUnsupportedGeometry, Format: format, Rule: RuleDialect,
			Message: fmt.Sprintf("%q is not a format of a geometry", string(format)), Fix: fmt.Sprintf("name one of %v", Formats())}
	}
}

// Append appends a geometry in WKB or EWKB; the other formats are only read. The bytes are little-endian, have Z if any
// position has a height, and NaN for the others. The errors are [*Error]: a shape that is none of the seven types, an
// ordinate that is not finite, fewer heights than positions, or an SRID in WKB, which has none.
func Append(dst []byte, format Format, g Geometry) ([]byte, error) {
	if format != WKB && format != EWKB {
		return nil, encodeFault(format, RuleDialect, fmt.Sprintf("%q is not written; name %s or %s", string(format), WKB, EWKB))
	}
	if g.SRID != 0 && format == WKB {
		return nil, encodeFault(format, RuleSRID, "the dialect has no place for an SRID")
	}
	if err := check(format, g); err != nil {
		return nil, err
	}
	return appendBinary(dst, format, g), nil
}
