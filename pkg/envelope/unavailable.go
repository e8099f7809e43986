package envelope

import (
	"cmp"
	"crypto/md5" //nolint:gosec // for UUIDs of version 3
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// DefaultUnavailableValue is the default of Debezium's unavailable.value.placeholder.
const DefaultUnavailableValue = "__debezium_unavailable_value"

// placeholder finds the values that a Debezium connector writes for columns that the database did not send, such as an
// unchanged TOASTed column of PostgreSQL (Debezium, PostgreSQL connector, "Toasted values").
type placeholder struct {
	bytes []byte
	texts []string // its forms as text; see newPlaceholder
}

// newPlaceholder reads the placeholder as in the connector's configuration: a text, or bytes after "hex:".
func newPlaceholder(configured string) (placeholder, error) {
	value := []byte(configured)
	if digits, isHex := strings.CutPrefix(configured, "hex:"); isHex {
		var err error
		if value, err = hex.DecodeString(digits); err != nil {
			return placeholder{}, errors.New("the text after hex: is not pairs of hexadecimal digits")
		}
	}
	if len(value) == 0 {
		return placeholder{}, errors.New("it is empty")
	}
	text := string([]rune(string(value))) // as a Java string: U+FFFD for bytes that are not UTF-8
	return placeholder{bytes: value, texts: []string{
		text, nameUUID(value), base64.StdEncoding.EncodeToString(value), base64.URLEncoding.EncodeToString(value), base64.RawURLEncoding.EncodeToString(value),
		hex.EncodeToString(value), strings.ToUpper(hex.EncodeToString(value)), `\x` + hex.EncodeToString(value),
		string(transform.ObjectValue(transform.Member{Name: text, Value: transform.StringValue(text)}).AppendJSON(nil)), // hstore.handling.mode: json
	}}, nil
}

// nameUUID returns the UUID that the connector writes into arrays of UUIDs: Java's UUID.nameUUIDFromBytes (RFC 9562,
// version 3, without a namespace).
func nameUUID(value []byte) string {
	id := md5.Sum(value) //nolint:gosec // the UUID is a name, and keeps no secret
	id[6], id[8] = id[6]&0x0f|0x30, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// find returns the JSON pointer, below a value, of the first placeholder in it. Connectors write it as a text, as bytes,
// as a UUID, as the only name and value of a map, and as the numbers of its bytes in an array of numbers.
func (p *placeholder) find(v transform.Value) (path string, found bool) {
	switch v.Kind() {
	case transform.KindString:
		for _, form := range p.texts {
			if v.Text() == form {
				return "", true
			}
		}
	case transform.KindArray:
		if p.isBytes(v.Items()) {
			return "", true
		}
		for i, item := range v.Items() {
			if below, found := p.find(item); found {
				return "/" + strconv.Itoa(i) + below, true
			}
		}
	case transform.KindObject:
		for _, member := range v.Members() {
			if member.Name == p.texts[0] {
				return "", true
			}
			if below, found := p.find(member.Value); found {
				return string(jsontext.Pointer("").AppendToken(member.Name)) + below, true
			}
		}
	default: // a boolean, a number or null is not a placeholder
	}
	return "", false
}

// isBytes reports whether an array holds the bytes of the placeholder as numbers, signed as in Java or unsigned.
func (p *placeholder) isBytes(items []transform.Value) bool {
	if len(items) != len(p.bytes) {
		return false
	}
	for i, item := range items {
		text, _ := strings.CutSuffix(item.Text(), ".0")
		if item.Kind() != transform.KindNumber || text != strconv.Itoa(int(p.bytes[i])) && text != strconv.Itoa(int(int8(p.bytes[i]))) { //nolint:gosec // the sign is meant
			return false
		}
	}
	return true
}

// available returns a row without the columns that the database did not send and that are not read. It refuses a row
// in which another column was not sent, because the placeholder would overwrite the real value.
func (o *Opener) available(row transform.Value, path string) (transform.Value, error) {
	var unread []string
	for _, column := range row.Members() {
		below, found := o.unavailable.find(column.Value)
		switch {
		case !found:
		case o.reads(column.Name):
			return row, withValue(fault(classify.CodeValueUnavailable, RuleColumn, string(jsontext.Pointer(path).AppendToken(column.Name))+below,
				"the database did not send this column: its value is the placeholder of the Debezium connector",
				"run ALTER TABLE … REPLICA IDENTITY FULL, or let the connector's reselect post-processor read the column, and replay; "+
					"another placeholder is named by source.debezium.unavailable_value"), o.options.Debezium.UnavailableValue)
		default:
			unread = append(unread, column.Name)
		}
	}
	if unread == nil {
		return row, nil
	}
	sent := slices.DeleteFunc(slices.Clone(row.Members()), func(m transform.Member) bool { return slices.Contains(unread, m.Name) })
	return transform.ObjectValue(sent...), nil
}

// reads reports whether a column is read: as a property, or by the options of rows.
func (o *Opener) reads(column string) bool {
	row := o.options.Row
	for _, path := range []string{cmp.Or(row.ID, "id"), cmp.Or(row.Geometry, "geometry"), row.Properties} {
		if path == column || strings.HasPrefix(path, column+".") {
			return true
		}
	}
	return row.Properties == "" && (o.options.Debezium.Reads == nil || o.options.Debezium.Reads(column))
}
