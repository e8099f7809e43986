package config

import (
	"strconv"
	"time"
)

// Duration is a time.Duration that is written with its unit: 500ms, 2s, 1h.
type Duration time.Duration

// Std returns d as a time.Duration.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes d in the largest unit that needs one whole number: 500ms, 60s, 5m, 1h. One minute
// is 60s, since that is how the tier of the design is called (retry-60s).
func (d Duration) String() string {
	std := time.Duration(d)
	switch {
	case std == 0 || std == time.Minute || std%time.Second == 0 && std%time.Minute != 0:
		return strconv.FormatInt(int64(std/time.Second), 10) + "s"
	case std%time.Hour == 0:
		return strconv.FormatInt(int64(std/time.Hour), 10) + "h"
	case std%time.Minute == 0:
		return strconv.FormatInt(int64(std/time.Minute), 10) + "m"
	case std%time.Millisecond == 0:
		return strconv.FormatInt(int64(std/time.Millisecond), 10) + "ms"
	default:
		return std.String()
	}
}

// MarshalText writes d as [Duration.String] does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "2s", "500ms", "1h30m". A number without a unit is refused.
func (d *Duration) UnmarshalText(text []byte) error {
	std, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = Duration(std)
	return nil
}
