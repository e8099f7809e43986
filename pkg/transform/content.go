package transform

import "github.com/switchback-geo/switchback/pkg/crs"

// Content returns the canonical bytes of everything in a feature that this mapping can read or pass on, for the content
// hash: those of [Canonical], followed by everything else on which the result depends, if the feature has it:
//
//   - its bbox, where geometry.bbox lets it through (keep, check),
//   - its foreign members, where unmapped properties are kept,
//   - the coordinate reference system that it names, if its coordinates would otherwise be read in another one.
//
// Two events that differ in one of these have different results, and closing the second one as a duplicate would lose
// it. Members that cannot reach the result do not count: a write time beside the feature does not change its content.
func (t *Transformer) Content(f *Feature) []byte {
	return t.AppendContent(make([]byte, 0, sizeOf(f)), f)
}

// AppendContent appends what [Transformer.Content] returns, so that a caller who only hashes it can reuse one buffer.
func (t *Transformer) AppendContent(dst []byte, f *Feature) []byte {
	dst = AppendCanonical(dst, f)
	if policy := t.config.Geometry.BBox; f.BBox != nil && (policy == BBoxKeep || policy == BBoxCheck) {
		e := encoder{out: append(dst, `"bbox":`...)}
		e.numbers(f.BBox...)
		dst = e.out
	}
	for _, name := range t.otherSystems(f) {
		dst = appendString(append(dst, `"crs":`...), name)
	}
	if len(f.Foreign) > 0 && t.config.Unmapped == UnmappedKeep {
		dst = appendSorted(append(dst, `"foreign":`...), f.Foreign)
	}
	return dst
}

// otherSystems lists the systems that a feature names and that change the meaning of its coordinates. Systems that
// are unknown or contradict each other are listed unchanged.
func (t *Transformer) otherSystems(f *Feature) []string {
	if len(f.crs) == 0 {
		return nil
	}
	source, err := t.sourceOf(f)
	switch {
	case err != nil:
		return f.crs
	case sameSystem(source, t.systems.source) && t.systems.source.AxisOrder() == crs.AxisXY:
		return nil
	}
	return []string{source.Code()}
}
