package avro

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Limits bounds the size of one datum. Zero selects the default.
type Limits struct {
	// MaxDepth bounds the nesting of records, arrays and maps. Defaults to 64.
	MaxDepth int

	// MaxLiteralBytes bounds the length of one string, bytes or fixed. Defaults to 8 MiB.
	MaxLiteralBytes int
}

// memoryFactor and memoryFloor bound the memory of a decoded datum: 64 bytes for each byte of the datum, plus 256 KiB.
// Only thousands of records of a few bytes each come near this bound.
const (
	memoryFactor = 64
	memoryFloor  = 256 << 10
)

// DecodeError describes why bytes do not match their schema.
type DecodeError struct {
	// Code is avro_decode, or the code of a limit.
	Code classify.Code

	// Path is the position in the value, as a JSON pointer.
	Path string

	// Offset is the byte position in the data, from 0.
	Offset int

	// Rule names the broken rule, Message describes the fault, and Fix describes how to correct it.
	Rule, Message, Fix string
}

// Error returns one line without any payload.
func (e *DecodeError) Error() string {
	return "Avro: " + e.Message + " at byte " + strconv.Itoa(e.Offset) + "; " + e.Fix
}

// FailureCode returns the code. Together with [DecodeError.FailureStage] it implements classify.Coded.
func (e *DecodeError) FailureCode() classify.Code { return e.Code }

// FailureStage returns the decode stage.
func (e *DecodeError) FailureStage() classify.Stage { return classify.StageDecode }

// Decode reads one datum. It refuses data that has bytes after the datum. Its errors are of type [*DecodeError]. It does
// not keep data.
func (s *Schema) Decode(data []byte, limits Limits) (transform.Value, error) {
	limits.MaxDepth = cmp.Or(limits.MaxDepth, 64)
	limits.MaxLiteralBytes = cmp.Or(limits.MaxLiteralBytes, 8<<20)
	d := decoder{data: data, limits: limits, memory: memoryFactor*len(data) + memoryFloor}
	value, err := d.value(s.root, 0)
	if err != nil {
		return transform.Value{}, err
	}
	if d.at < len(data) {
		return transform.Value{}, d.fault(classify.CodeAvroDecode, "trailing_data", strconv.Itoa(len(data)-d.at)+" bytes follow the datum",
			"is this the schema that it was written with?")
	}
	return value, nil
}

type decoder struct {
	data   []byte
	at     int
	limits Limits
	memory int // bytes that the datum may still take
}

func (d *decoder) fault(code classify.Code, rule, message, fix string) error {
	return &DecodeError{Code: code, Offset: d.at, Rule: rule, Message: message, Fix: fix}
}

// under prepends a segment to the path of a DecodeError.
func under(segment string, err error) error {
	if e, ok := errors.AsType[*DecodeError](err); ok {
		e.Path = string(jsontext.Pointer("").AppendToken(segment)) + e.Path
	}
	return err
}

// malformed returns the error for bytes that do not match the schema.
func (d *decoder) malformed(rule, message string) error {
	return d.fault(classify.CodeAvroDecode, rule, message, "is this the schema that it was written with, and all of the bytes?")
}

// spend subtracts n bytes from the memory budget before they are allocated.
func (d *decoder) spend(n int) error {
	if d.memory -= n; d.memory >= 0 {
		return nil
	}
	return d.fault(classify.CodeLimitExceeded, "memory", "the datum would take more than "+strconv.Itoa(memoryFactor)+" times its size in memory",
		"write fewer tiny values, or several records")
}

const (
	valueSize     = int(unsafe.Sizeof(transform.Value{}))
	memberSize    = int(unsafe.Sizeof(transform.Member{}))
	containerSize = 48 // two slices
)

func (d *decoder) value(n *node, depth int) (transform.Value, error) {
	if depth > d.limits.MaxDepth {
		return transform.Value{}, d.fault(classify.CodeTooDeep, "max_depth",
			"the datum is nested deeper than "+strconv.Itoa(d.limits.MaxDepth)+" levels", "flatten it, or raise limits.max_depth")
	}
	switch n.kind {
	case kindNull:
		return transform.NullValue(), nil
	case kindBoolean:
		return d.boolean()
	case kindInt, kindLong:
		return d.integer(n)
	case kindFloat:
		raw, err := d.take(4)
		if err != nil {
			return transform.Value{}, err
		}
		return d.real(float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))), 32)
	case kindDouble:
		raw, err := d.take(8)
		if err != nil {
			return transform.Value{}, err
		}
		return d.real(math.Float64frombits(binary.LittleEndian.Uint64(raw)), 64)
	case kindBytes, kindFixed:
		return d.binary(n)
	case kindString:
		text, err := d.text()
		return transform.StringValue(text), err
	case kindEnum:
		i, err := d.index(len(n.symbols), "symbol")
		if err != nil {
			return transform.Value{}, err
		}
		return transform.StringValue(n.symbols[i]), nil
	case kindUnion:
		i, err := d.index(len(n.branches), "branch")
		if err != nil {
			return transform.Value{}, err
		}
		return d.value(n.branches[i], depth) // the depth stays, because a union cannot contain a union
	case kindRecord:
		return d.record(n, depth)
	default:
		return d.blocks(n, depth)
	}
}

func (d *decoder) boolean() (transform.Value, error) {
	raw, err := d.take(1)
	if err != nil {
		return transform.Value{}, err
	}
	if raw[0] > 1 {
		return transform.Value{}, d.malformed("boolean", "a boolean is neither 0 nor 1")
	}
	return transform.BooleanValue(raw[0] == 1), nil
}

func (d *decoder) integer(n *node) (transform.Value, error) {
	i, err := d.long()
	if err != nil {
		return transform.Value{}, err
	}
	if n.kind == kindInt && int64(int32(i)) != i { //nolint:gosec // the comparison is the check
		return transform.Value{}, d.malformed("int_range", "an int has more than 32 bits")
	}
	if err := d.spend(textSize(i)); err != nil {
		return transform.Value{}, err
	}
	text, is, err := integerText(n.logical, i)
	switch {
	case err != nil:
		return transform.Value{}, d.fault(classify.CodeAvroDecode, "time_range", err.Error(), "correct the time at its source")
	case is:
		return transform.StringValue(text), nil
	}
	return transform.IntegerValue(i), nil
}

// textSize returns the approximate size of a number as text.
func textSize(i int64) int {
	if -1e7 < i && i < 1e8 {
		return 8
	}
	return 24
}

// real returns the number of a float that has the given number of bits.
func (d *decoder) real(f float64, bits int) (transform.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return transform.Value{}, d.fault(classify.CodeAvroDecode, "not_finite", "a number is not finite, which JSON cannot represent",
			"write null where there is no value")
	}
	if bits == 32 { // the shortest form of a float differs from the shortest form of the same value as a double
		shortest, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', -1, 32), 64)
		if err != nil {
			return transform.Value{}, fmt.Errorf("read a float again: %w", err)
		}
		f = shortest
	}
	return transform.NumberValue(f), d.spend(24)
}

func (d *decoder) binary(n *node) (transform.Value, error) {
	size := n.size
	if n.kind == kindBytes {
		var err error
		if size, err = d.length(); err != nil {
			return transform.Value{}, err
		}
	}
	raw, err := d.take(size)
	if err != nil {
		return transform.Value{}, err
	}
	if err := d.spend(4*size + 32); err != nil {
		return transform.Value{}, err
	}
	if text, is := bytesText(n, raw); is {
		return transform.StringValue(text), nil
	}
	return transform.StringValue(base64.StdEncoding.EncodeToString(raw)), nil
}

// text reads a string.
func (d *decoder) text() (string, error) {
	size, err := d.length()
	if err != nil {
		return "", err
	}
	raw, err := d.take(size)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(raw) {
		return "", d.fault(classify.CodeInvalidUTF8, "utf8", "a string is not UTF-8", "write UTF-8, or declare bytes")
	}
	return string(raw), d.spend(size + 16)
}
