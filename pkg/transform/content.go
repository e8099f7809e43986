package transform

import "github.com/switchback-geo/switchback/pkg/crs"

// Content returns the canonical bytes of all of a feature that this mapping can
// read or carry into its result, for the content hash: those of [Canonical], and
// behind them what else the result depends on, when the feature has it:
//
//   - its bbox, where geometry.bbox lets it through (keep, check),
//   - its foreign members, where unmapped properties are kept,
//   - the coordinate reference system that it names itself, where that is not the
//     one that its coordinates would be taken for without it.
//
// Two events that differ in one of these have two results, and closing the second
// as a repetition of the first would lose it. What cannot get into the result does
// not count: a time of writing beside the feature makes no new content of it.
func (t *Transformer) Content(f *Feature) []byte {
	return t.AppendContent(make([]byte, 0, sizeOf(f)), f)
}

// AppendContent appends what [Transformer.Content] returns, so that one buffer can be
// used again and again where the bytes are only hashed.
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

// otherSystems lists the systems that a feature names and that make its
// coordinates mean something else than they would without; those that are not
// known, or contradict each other, as they are written.
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
