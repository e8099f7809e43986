// Package patch edits one JSON document: by JSON Patch (RFC 6902), by Merge Patch (RFC 7396), or by assignments such
// as properties.AREA=0. What an edit does not name keeps its bytes: numbers their digits, members their order.
//
// It knows nothing of features, letters or topics, and it does not judge whether the result makes sense.
package patch
