package status_test

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/status"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

var (
	one = "sha256:" + strings.Repeat("1", 64)
	two = "sha256:" + strings.Repeat("2", 64)
)

func TestAnnouncement_S4_8_isReadAsItWasWritten(t *testing.T) {
	want := status.Announcement{Mapping: one, Software: "v1.2.3"}
	data := must.Get(want.Encode())(t)
	if got := status.ReadAnnouncement(data); got != want {
		t.Errorf("%+v", got)
	}
	if _, err := (status.Announcement{Mapping: "none"}).Encode(); err == nil {
		t.Error("a text that is no fingerprint is announced")
	}
	later := strings.Replace(string(data), `"version":1`, `"version":2,"more":true`, 1)
	if got := status.ReadAnnouncement([]byte(later)); got != want {
		t.Errorf("of a later version: %+v", got)
	}
}

// Any client can join a group with any user data.
func TestRead_S4_8_hostileIsUnknown(t *testing.T) {
	for name, data := range map[string]string{
		"nothing": "", "no JSON": "\x00\x01", "null": "null", "a list": "[]", "no version": `{"mapping":"` + one + `"}`,
		"a colored fingerprint":  `{"version":1,"mapping":"\u001b[31m` + one + `"}`,
		"more than there can be": `{"version":1,"mapping":"` + one + `","x":"` + strings.Repeat("x", 8<<10) + `"}`,
	} {
		if got := status.ReadAnnouncement([]byte(data)); got != (status.Announcement{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := status.ReadAnnouncement([]byte(`{"version":1,"mapping":"` + one + `","software":"\u001b[31mred"}`)); got.Software != "" || got.Mapping != one {
		t.Errorf("%+v", got)
	}
}

func member(name, mapping string) status.Member {
	return status.Member{Name: name, Host: "10.0.0.1", Mapping: mapping}
}

func TestMappingComparison_S4_8(t *testing.T) {
	for _, c := range []struct {
		name           string
		members        []status.Member
		differs, mixed bool
		lines          []string
	}{
		{name: "nobody runs"},
		{"the same", []status.Member{member("a", one), member("b", one)}, false, false, []string{"this file", "2 instances: a at 10.0.0.1, b at 10.0.0.1, the same"}},
		{"another", []status.Member{member("a", two)}, true, false, []string{"this file", "sha256:222222222222: instance a at 10.0.0.1, DIFFERENT"}},
		{"an earlier version", []status.Member{member("a", "")}, false, false, []string{"this file", "mapping unknown: instance a at 10.0.0.1, not known"}},
		{"a rolling deployment", []status.Member{member("a", one), member("b", two), member("c", "")}, true, true, []string{"this file", "a at", "b at", "c at", "differ among themselves"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := status.MappingComparison{Own: one, Members: c.members}
			if got.Differs() != c.differs || got.Mixed() != c.mixed {
				t.Errorf("differs %v, mixed %v", got.Differs(), got.Mixed())
			}
			lines := got.Lines("this file")
			if len(lines) != len(c.lines) {
				t.Fatalf("%q", lines)
			}
			for i, part := range c.lines {
				if !strings.Contains(lines[i], part) {
					t.Errorf("line %q, want %q", lines[i], part)
				}
			}
		})
	}
}
