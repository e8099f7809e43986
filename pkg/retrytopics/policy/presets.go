package policy

import "time"

// Preset names a policy that suits a kind of provider (S2-10). Its figures come from the source documents. Where a
// document has a range or only "longer", the choice is this project's, and a comment notes it.
type Preset string

// The presets.
const (
	PresetWFS      Preset = "wfs"      // slow WFS endpoints: more attempts and a longer ceiling
	PresetTiles    Preset = "tiles"    // tile servers: many at once, short delays
	PresetSTAC     Preset = "stac"     // STAC catalogues: three retries with jitter
	PresetPostGIS  Preset = "postgis"  // PostGIS and other databases
	PresetRegistry Preset = "registry" // schema registries and remote CRS lookups
)

// Presets lists every preset.
func Presets() []Preset {
	return []Preset{PresetWFS, PresetTiles, PresetSTAC, PresetPostGIS, PresetRegistry}
}

// Policy returns the preset's figures; fields that it leaves zero have the values of the default policy. An unknown
// preset returns a zero Policy.
func (p Preset) Policy() Policy {
	switch p {
	case PresetWFS:
		// S2: six retries in the document's WFS task, "longer ceilings" for WFS (this project chose twice the usual
		// one).
		return Policy{MaxAttempts: 7, Strategy: StrategyExponential, BaseDelay: 2 * time.Second, MaxDelay: 120 * time.Second, Multiplier: 2, Jitter: time.Second}
	case PresetTiles:
		// S3, patterns 1 and 2: base 0.5 s, cap 30 s, five attempts, full jitter where many call at once.
		return Policy{MaxAttempts: 5, Strategy: StrategyFullJitter, BaseDelay: 500 * time.Millisecond, MaxDelay: 30 * time.Second, Multiplier: 2}
	case PresetSTAC:
		// S3, pattern 3: "STAC timeout: retry 3× with jitter"; base and cap from pattern 1.
		return Policy{MaxAttempts: 4, Strategy: StrategyEqualJitter, BaseDelay: time.Second, MaxDelay: 30 * time.Second, Multiplier: 2}
	case PresetPostGIS:
		// S4: "backoff starting at 5 s" for a transient database error, ± 25 %; S3: five retries for a database.
		return Policy{MaxAttempts: 6, Strategy: StrategyProportionalJitter, BaseDelay: 5 * time.Second, MaxDelay: 60 * time.Second, Multiplier: 2, Spread: 0.25}
	case PresetRegistry:
		// S1: base 2 s, cap 60 s, five attempts, 0 to 1 s added.
		return Policy{MaxAttempts: 5, Strategy: StrategyExponential, BaseDelay: 2 * time.Second, MaxDelay: 60 * time.Second, Multiplier: 2, Jitter: time.Second}
	}
	return Policy{}
}
