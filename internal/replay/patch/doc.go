// Package patch edits one JSON document by JSON Patch (RFC 6902), by Merge Patch (RFC 7396), or by assignments such
// as properties.AREA=0. Other parts of the document keep their bytes: numbers keep their digits, and members their
// order.
//
// The package does not check whether the result makes sense for a feature.
package patch
