package avro

import (
	"fmt"
)

// Text returns a datum in Avro's JSON encoding (Avro 1.11, "JSON Encoding"). The branch of a union is an object whose
// one member has the name of the branch type. Bytes are a string of the code points 0 to 255. Logical types are written
// as their underlying types.
func (s *Schema) Text(datum []byte) ([]byte, error) {
	codec, err := s.codec()
	if err != nil {
		return nil, err
	}
	native, rest, err := codec.NativeFromBinary(datum)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow the datum", len(rest))
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

// AppendText appends the binary encoding of a datum that text holds in Avro's JSON encoding.
func (s *Schema) AppendText(dst, text []byte) ([]byte, error) {
	codec, err := s.codec()
	if err != nil {
		return nil, err
	}
	native, rest, err := codec.NativeFromTextual(text)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow the value", len(rest))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s from JSON: %w", s.Name(), err)
	}
	return s.Encode(dst, native)
}
