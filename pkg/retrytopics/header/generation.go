package header

// generationBits is the number of offset bits below the generation. No partition has more records than they count.
const generationBits = 48

// VersionPosition returns the offset that orders an event among those of its key: the source offset of its first
// appearance, with the generation of the source topic above it. A topic that is deleted and re-created starts its
// offsets again, and the events of the later topic must be newer.
func VersionPosition(generation int, offset int64) int64 {
	return int64(generation)<<generationBits + offset
}

// VersionOffset returns the version position of the record with these headers.
func (c *Control) VersionOffset() int64 { return VersionPosition(c.Generation, c.Source.Offset) }
