// Package verify proves from the topics of a live pipeline that every record of the source is in exactly one place:
// delivered, dead, closed, waiting, or not read yet.
//
//	commits, ends ──▶ source, tiers, DLQ, output, audit ──▶ facts by source position ──▶ verdict for each
//	      ▲                                                                                   │
//	      └──────────── again, with newer records, while anything is suspected ◀──────────────┘
//
// Pure functions fold and judge the facts ([Account]); only [Run] asks a broker. A position takes 8 bytes, in pages that
// are allocated when something is known of one of their positions. If retention or compaction may have removed a
// record's trace, the verdict is "cannot be known", with the topic that lost it.
//
// The package only reads. It stops nothing, joins no group, and believes the same headers of the source topic as the
// engine.
package verify
