package governance_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/governance"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

func feature(t *testing.T, properties string) *transform.Feature {
	t.Helper()
	tr := must.Get(transform.New(transform.Config{}.WithDefaults()))(t)
	return must.Get(tr.Decode([]byte(`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":` + properties + `}`)))(t)
}

func headerOf(key, value string) []kgo.RecordHeader {
	return []kgo.RecordHeader{{Key: key, Value: []byte(value)}}
}

// Where a mark is read, and which rule it breaks.
func TestPolicy_S3_1(t *testing.T) {
	both := config.Mark{Header: "care", Field: "properties.care"}
	allow, deny, required := both, both, both
	allow.Allow, deny.Deny, required.Required = []string{"open", "attribution"}, []string{"sacred"}, true
	for _, c := range []struct {
		name    string
		rules   config.Mark
		headers []kgo.RecordHeader
		before  string
		feature string // properties, of several features with & between them; "" for a delete
		want    string
		breaks  string
	}{
		{"S3-1_header", both, headerOf("care", " open , attribution "), "", `{}`, "open,attribution", ""},
		{"S3-1_header_before_field", both, headerOf("care", "open"), "", `{"care":"closed"}`, "open", ""},
		{"S3-1_field_when_the_header_is_empty", both, headerOf("care", " , "), "", `{"care":"closed"}`, "closed", ""},
		{"S3-1_field_text", both, nil, "", `{"care":"open,attribution"}`, "open,attribution", ""},
		{"S3-1_field_list", both, nil, "", `{"care":["open","attribution",""]}`, "open,attribution", ""},
		{"S3-1_field_null", both, nil, "", `{"care":null}`, "", ""},
		{"S3-8_an_earlier_hop", both, nil, "open", `{}`, "open", ""},
		{"S3-8_the_record_itself_before_an_earlier_hop", both, nil, "open", `{"care":"closed"}`, "closed", ""},
		{"S3-8_of_a_delete", both, headerOf("care", "open"), "", "", "open", ""},
		{"S3-3_required", required, nil, "", `{}`, "", "governance.care.required"},
		{"S3-3_required_of_a_delete_is_not", required, nil, "", "", "", ""},
		{"S3-3_all_allowed", allow, headerOf("care", "open,attribution"), "", `{}`, "open,attribution", ""},
		{"S3-3_one_not_allowed", allow, headerOf("care", "open,closed"), "", `{}`, "open,closed", "governance.care.allow"},
		{"S3-3_none_is_allowed", allow, nil, "", `{}`, "", ""},
		{"S3-3_one_denied", deny, headerOf("care", "open,sacred"), "", `{}`, "open,sacred", "governance.care.deny"},
		{"S3-3_denied_in_a_header_that_stands_there_twice", deny, append(headerOf("care", "open"), headerOf("care", "sacred")...), "", `{}`, "open,sacred", "governance.care.deny"},
		{"S3-3_not_allowed_in_the_first_of_two", allow, append(headerOf("care", "sacred"), headerOf("care", "open")...), "", `{}`, "sacred,open", "governance.care.allow"},
		{"S3-3_denied_delete", deny, headerOf("care", "sacred"), "", "", "sacred", "governance.care.deny"},
		{"S3-8_marks_of_a_collection", both, nil, "", `{"care":"open"} & {"care":["attribution","open"]}`, "open,attribution", ""},
		{"S3-3_one_of_a_collection_is_denied", deny, nil, "", `{"care":"open"} & {"care":"sacred"}`, "open,sacred", "governance.care.deny"},
		{"S3-3_one_of_a_collection_has_none", required, nil, "", `{"care":"open"} & {}`, "open", "governance.care.required"},
		{"S3-8_too_long_to_travel_whole", both, headerOf("care", strings.Repeat("x", 449)), "", `{}`, strings.Repeat("x", 449), "governance.care"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := governance.NewPolicy(config.Governance{Care: c.rules})
			var features []*transform.Feature
			for properties := range strings.SplitSeq(c.feature, " & ") {
				if properties != "" {
					features = append(features, feature(t, properties))
				}
			}
			marks, err := p.Marks(c.headers, &header.Control{Care: c.before}, features...)
			expect.That(t, marks.Care == c.want, "read %q, want %q", marks.Care, c.want)
			v, broken := err.(*governance.Violation)
			must.That(t, (err == nil || broken) && broken == (c.breaks != "") && (!broken || v.Rule == c.breaks), "got %v, want a violation of %q", err, c.breaks)
			if broken {
				f := classify.Of(err)
				expect.That(t, f.Code == classify.CodeGovernanceDenied && !f.Transient() && f.Category == classify.CategoryGovernance, "classified as %+v", f)
			}
		})
	}
}

// Every kind of mark has its own rules, and the words of a violation say which and what.
func TestPolicy_S3_8_threeKinds(t *testing.T) {
	p := governance.NewPolicy(config.Governance{
		Care: config.Mark{Header: "c"}, Sovereignty: config.Mark{Header: "s", Allow: []string{"osage"}}, Lineage: config.Mark{Header: "l", Required: true},
	})
	headers := append(append(headerOf("c", "open"), headerOf("s", "osage")...), headerOf("l", "survey:1887")...)
	marks, err := p.Marks(headers, &header.Control{}, feature(t, `{}`))
	expect.That(t, err == nil && marks == (retrytopics.Marks{Care: "open", Sovereignty: "osage", Lineage: "survey:1887"}), "%+v, %v", marks, err)
	for word, headers := range map[string][]kgo.RecordHeader{
		`the sovereignty mark "kaw" is none of those that are allowed (governance.sovereignty.allow)`: append(headerOf("s", "kaw"), headerOf("l", "x")...),
		"the lineage mark is missing (governance.lineage.required)":                                   headerOf("s", "osage"),
	} {
		_, err := p.Marks(headers, &header.Control{}, feature(t, `{}`))
		expect.That(t, err != nil && strings.Contains(err.Error(), word), "%v does not say %q", err, word)
	}
	marks, err = governance.NewPolicy(config.Governance{}).Marks(headers, &header.Control{Care: "x"})
	expect.That(t, err == nil && marks == (retrytopics.Marks{}), "without rules: %+v, %v", marks, err)
}
