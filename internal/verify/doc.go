// Package verify proves from the topics of a live pipeline that every record of the source is in exactly one place: delivered, dead,
// closed, waiting, or not read yet.
//
//	commits, ends ──▶ source, tiers, DLQ, output, audit ──▶ facts by source position ──▶ verdict for each
//	      ▲                                                                                   │
//	      └───────────────── again, with what came since, while anything is suspected ◀───────┘
//
// Facts are folded and judged by pure functions ([Account]); only [Run] asks a broker. A position takes 8 bytes, in pages that are made
// when something is known of one of their positions. What retention or compaction may have taken is "cannot be known" with the topic that
// took it, and never guessed.
//
// The package only reads. It stops nothing, joins no group, and believes of the headers in the source topic what the engine believes.
package verify
