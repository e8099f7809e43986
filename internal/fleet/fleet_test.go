package fleet_test

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/fleet"
)

var (
	one = "sha256:" + strings.Repeat("1", 64)
	two = "sha256:" + strings.Repeat("2", 64)
)

func TestAnnouncement_S4_8_isReadAsItWasWritten(t *testing.T) {
	want := fleet.Announcement{Mapping: one, Software: "v1.2.3"}
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got := fleet.Read(data); got != want {
		t.Errorf("%+v", got)
	}
	if _, err := (fleet.Announcement{Mapping: "none"}).Encode(); err == nil {
		t.Error("a fingerprint that is none is announced")
	}
	later := strings.Replace(string(data), `"version":1`, `"version":2,"more":true`, 1)
	if got := fleet.Read([]byte(later)); got != want {
		t.Errorf("of a later version: %+v", got)
	}
}

// Anybody who may join the group can say anything there.
func TestRead_S4_8_hostileIsUnknown(t *testing.T) {
	for name, data := range map[string]string{
		"nothing": "", "no JSON": "\x00\x01", "null": "null", "a list": "[]", "no version": `{"mapping":"` + one + `"}`,
		"a colored fingerprint":  `{"version":1,"mapping":"\u001b[31m` + one + `"}`,
		"more than there can be": `{"version":1,"mapping":"` + one + `","x":"` + strings.Repeat("x", 8<<10) + `"}`,
	} {
		if got := fleet.Read([]byte(data)); got != (fleet.Announcement{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := fleet.Read([]byte(`{"version":1,"mapping":"` + one + `","software":"\u001b[31mred"}`)); got.Software != "" || got.Mapping != one {
		t.Errorf("%+v", got)
	}
}

func instance(name, mapping string) fleet.Instance {
	return fleet.Instance{Name: name, Host: "10.0.0.1", Announcement: fleet.Announcement{Mapping: mapping}}
}

func TestComparison_S4_8(t *testing.T) {
	for _, c := range []struct {
		name           string
		instances      []fleet.Instance
		differs, mixed bool
		lines          []string
	}{
		{name: "nobody runs"},
		{"the same", []fleet.Instance{instance("a", one), instance("b", one)}, false, false, []string{"this file", "2 instances: a at 10.0.0.1, b at 10.0.0.1, the same"}},
		{"another", []fleet.Instance{instance("a", two)}, true, false, []string{"this file", "sha256:222222222222: instance a at 10.0.0.1, DIFFERENT"}},
		{"an earlier version", []fleet.Instance{instance("a", "")}, false, false, []string{"this file", "mapping unknown: instance a at 10.0.0.1, not known"}},
		{"a rolling deployment", []fleet.Instance{instance("a", one), instance("b", two), instance("c", "")}, true, true, []string{"this file", "a at", "b at", "c at", "differ among themselves"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := fleet.Comparison{Own: one, Instances: c.instances}
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
