package envelope

import (
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// headers are the headers that describe the value.
type headers struct {
	contentType string            // as it was written
	attributes  map[string]string // of the CloudEvent, without "ce_"
}

// attributePrefix precedes the attributes of a CloudEvent (Kafka Protocol Binding 1.0.2, section 3.2.3.1).
const attributePrefix = "ce_"

// readHeaders reads the relevant headers and ignores the others.
func readHeaders(all []kgo.RecordHeader) (headers, error) {
	h := headers{attributes: map[string]string{}}
	seen := map[string]bool{}
	for _, header := range all {
		attribute, isAttribute := strings.CutPrefix(header.Key, attributePrefix)
		isType := strings.EqualFold(header.Key, "content-type")
		if !isAttribute && !isType {
			continue
		}
		name := strings.ToLower(header.Key)
		if seen[name] || !utf8.Valid(header.Value) {
			return h, withValue(fault(classify.CodeEnvelopeMalformed, RuleHeader, "", "the header "+shorten.Text(header.Key)+" occurs twice or is not UTF-8",
				"send each header of the event once"), string(header.Value))
		}
		seen[name] = true
		if isType {
			h.contentType = strings.TrimSpace(string(header.Value))
		} else {
			h.attributes[attribute] = string(header.Value)
		}
	}
	return h, nil
}

// isStructured reports whether the content type is one of CloudEvents. The content type, not the headers, distinguishes
// structured mode from binary mode.
func (h headers) isStructured() bool {
	return strings.HasPrefix(strings.ToLower(h.contentType), "application/cloudevents")
}

func (h headers) isEvent() bool {
	_, binary := h.attributes["specversion"]
	return binary || h.isStructured()
}

// formatOfType returns the format of a content type. from names its origin for messages.
func formatOfType(contentType, from string) (Format, error) {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return "", withValue(fault(classify.CodeEnvelopeMalformed, RuleContentType, "", from+" is not a content type: "+err.Error(),
			"write one such as application/geo+json"), contentType)
	}
	switch media {
	case "application/vnd.ogc.fg+json":
		return JSONFG, nil
	case "application/geo+json":
		if profile := strings.ToLower(parameters["profile"]); strings.Contains(profile, "json-fg") || strings.Contains(profile, "jsonfg") {
			return JSONFG, nil
		}
		return GeoJSON, nil
	case "application/json", "application/vnd.geo+json", "text/json":
		return GeoJSON, nil
	case "application/avro", "avro/binary", "application/vnd.apache.avro", "application/vnd.apache.avro+binary", "application/x-avro":
		return Avro, nil
	case "application/geo+json-seq", "application/json-seq", "application/x-ndjson":
		return "", withValue(fault(classify.CodeEnvelopeMalformed, RuleContentType, "", from+" names a sequence of features",
			"send each of them as a record of its own"), contentType)
	}
	if strings.HasSuffix(media, "+json") {
		return GeoJSON, nil
	}
	return "", withValue(fault(classify.CodeEnvelopeMalformed, RuleContentType, "", from+" names a format that is not supported",
		"send application/geo+json, application/vnd.ogc.fg+json or application/avro, or set source.format"), contentType)
}
