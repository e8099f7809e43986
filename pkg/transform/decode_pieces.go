package transform

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Pieces are the features of a FeatureCollection in their original text.
type Pieces struct {
	text     []byte
	features [][2]int // where each begins and ends
	from, to int      // of the text between the brackets of the array
}

// CutCollection finds the features in the text of a FeatureCollection, whatever they contain. ok is false if the text is
// not JSON or has no array of features. The text is retained and must not be changed.
func CutCollection(text []byte) (p Pieces, ok bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return Pieces{}, false
	}
	p.text = text
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return Pieces{}, false
		}
		if name.String() != "features" {
			err = d.SkipValue()
		} else if found := p.cut(d); !found {
			return Pieces{}, false
		}
		if err != nil {
			return Pieces{}, false
		}
	}
	token, err := d.ReadToken()
	rest := bytes.TrimLeft(text[d.InputOffset():], " \t\r\n")
	return p, err == nil && token.Kind() == '}' && p.to > 0 && len(rest) == 0
}

// cut reads the array of features.
func (p *Pieces) cut(d *jsontext.Decoder) (found bool) {
	if token, err := d.ReadToken(); err != nil || token.Kind() != '[' {
		return false
	}
	p.from = int(d.InputOffset())
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		end := int(d.InputOffset())
		p.features = append(p.features, [2]int{end - len(value), end})
	}
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	p.to = int(d.InputOffset()) - 1
	return true
}

// Len returns the number of features.
func (p *Pieces) Len() int { return len(p.features) }

// Frame returns the number of bytes around the features.
func (p *Pieces) Frame() int { return p.from + len(p.text) - p.to }

// Feature returns the text of one feature.
func (p *Pieces) Feature(i int) []byte { return p.text[p.features[i][0]:p.features[i][1]] }

// Alone returns the text of the collection with one feature only, so that the surrounding members still apply to it.
func (p *Pieces) Alone(i int) []byte { return p.with(p.Feature(i)) }

// Empty returns the text of the collection without features.
func (p *Pieces) Empty() []byte { return p.with(nil) }

func (p *Pieces) with(feature []byte) []byte {
	text := make([]byte, 0, p.Frame()+len(feature))
	text = append(append(text, p.text[:p.from]...), feature...)
	return append(text, p.text[p.to:]...)
}
