package deadletters

import (
	"bytes"
	"strconv"
)

// chainHeadPrefix begins the keys of the status topic that belong to no letter: under each lies the last link
// of the chain in one partition of the audit topic, so that the next one to act goes on from there.
const chainHeadPrefix = "audit-chain/"

// ChainHeadKey is the key under which the status topic keeps the head of a partition's chain.
func ChainHeadKey(auditPartition int32) []byte {
	return strconv.AppendInt([]byte(chainHeadPrefix), int64(auditPartition), 10)
}

// IsChainHead reports whether a record of the status topic is the head of a chain rather than a state.
func IsChainHead(key []byte) bool { return bytes.HasPrefix(key, []byte(chainHeadPrefix)) }
