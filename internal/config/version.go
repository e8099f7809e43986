package config

import "time"

// VersionForm is what the property that orders the events of a key holds.
type VersionForm string

// The choices.
const (
	VersionAny     VersionForm = "any"     // an RFC 3339 time, or a whole number that is no time
	VersionRFC3339 VersionForm = "rfc3339" // nothing but RFC 3339 times
	VersionUnixS   VersionForm = "unix_s"  // seconds since 1970
	VersionUnixMS  VersionForm = "unix_ms" // milliseconds since 1970
	VersionUnixUS  VersionForm = "unix_us" // microseconds since 1970
	VersionUnixNS  VersionForm = "unix_ns" // nanoseconds since 1970
	VersionNumber  VersionForm = "number"  // whole numbers that are no times: a revision
)

// Numbers says whether whole numbers are versions, and Times whether RFC 3339 times are.
func (f VersionForm) Numbers() bool { return f != VersionRFC3339 }

// Times says whether RFC 3339 times are versions.
func (f VersionForm) Times() bool { return f == VersionRFC3339 || f == VersionAny }

// Number gives the version that a time has where whole numbers are times; ok is false where they are not.
func (f VersionForm) Number(at time.Time) (n int64, ok bool) {
	switch f {
	case VersionUnixS:
		return at.Unix(), true
	case VersionUnixMS:
		return at.UnixMilli(), true
	case VersionUnixUS:
		return at.UnixMicro(), true
	case VersionUnixNS:
		return at.UnixNano(), true
	default:
		return 0, false
	}
}

const (
	versionPath      = "source.version"
	versionFormPath  = "source.version_form"
	versionAheadPath = "source.max_version_ahead"
)

func versionWarnings(cfg *Config, warn warner) {
	form, limited := cfg.Source.VersionForm, cfg.Source.MaxVersionAhead != defaultAhead
	if cfg.Source.Version == "" {
		const message, fix = "has no effect: no property orders the events, the source offset does", "name it with source.version, or remove it"
		if form != VersionAny {
			warn(versionFormPath, message, fix)
		}
		if limited {
			warn(versionAheadPath, message, fix)
		}
		return
	}
	switch {
	case form == VersionAny:
		warn(versionPath, "a whole number has no limit: one producer that sends a large one makes every later event of that key superseded",
			"write source.version_form: rfc3339, or unix_s, unix_ms, unix_us, unix_ns where numbers are times, or number for revisions, which have no limit")
	case form == VersionNumber && limited:
		warn(versionAheadPath, "has no effect: with source.version_form: number versions are no times", "remove it")
	}
}

const defaultAhead = Duration(time.Hour)
