package attempt

import (
	"cmp"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// marksOf returns the marks of the control headers.
func marksOf(c *header.Control) retrytopics.Marks {
	return retrytopics.Marks{Lineage: c.Lineage, Care: c.Care, Sovereignty: c.Sovereignty}
}

// setMarks writes marks into the control headers.
func setMarks(c *header.Control, m retrytopics.Marks) {
	c.Lineage, c.Care, c.Sovereignty = m.Lineage, m.Care, m.Sovereignty
}

// identityOf returns the identity of the content from the control headers.
func identityOf(c *header.Control) retrytopics.Identity {
	return retrytopics.Identity{FeatureID: c.FeatureID, ContentHash: c.ContentHash, BBox: c.BBox, Marks: marksOf(c)}
}

// largeValue is the record size in bytes above which a result may share no memory with its record's value. An ID that is
// a slice of the value would keep all of it in memory until the commit.
const largeValue = 32 << 10

// copied returns the identity in memory of its own.
func copied(i *retrytopics.Identity) retrytopics.Identity {
	return retrytopics.Identity{
		FeatureID: strings.Clone(i.FeatureID), ContentHash: strings.Clone(i.ContentHash), BBox: strings.Clone(i.BBox),
		Marks: retrytopics.Marks{Lineage: strings.Clone(i.Lineage), Care: strings.Clone(i.Care), Sovereignty: strings.Clone(i.Sovereignty)},
	}
}

// merged returns an identity in which empty fields of now have the values of before.
func merged(now, before *retrytopics.Identity) retrytopics.Identity {
	return retrytopics.Identity{
		FeatureID:   cmp.Or(now.FeatureID, before.FeatureID),
		ContentHash: cmp.Or(now.ContentHash, before.ContentHash),
		BBox:        cmp.Or(now.BBox, before.BBox),
		Marks: retrytopics.Marks{
			Lineage:     cmp.Or(now.Lineage, before.Lineage),
			Care:        cmp.Or(now.Care, before.Care),
			Sovereignty: cmp.Or(now.Sovereignty, before.Sovereignty),
		},
	}
}
