package avro

import (
	"fmt"
)

// Text gives a datum in Avro's JSON encoding (Avro 1.11, "JSON Encoding"): the branch of a union is an object with one
// member named like its type, bytes are a text of the code points 0 to 255, and logical types are written as the
// type below them.
func (s *Schema) Text(datum []byte) ([]byte, error) {
	codec, err := s.codec()
	if err != nil {
		return nil, err
	}
	native, rest, err := codec.NativeFromBinary(datum)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes are left behind the datum", len(rest))
	}
	if err != nil {
		return nil, fmt.Errorf("decode as %s: %w", s.Name(), err)
	}
	text, err := codec.TextualFromNative(nil, native)
	if err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", s.Name(), err)
	}
	return text, nil
}

// AppendText appends the datum that a text in Avro's JSON encoding describes.
func (s *Schema) AppendText(dst, text []byte) ([]byte, error) {
	codec, err := s.codec()
	if err != nil {
		return nil, err
	}
	native, rest, err := codec.NativeFromTextual(text)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes are left behind the value", len(rest))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s from JSON: %w", s.Name(), err)
	}
	return s.Encode(dst, native)
}
