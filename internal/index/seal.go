package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// sealBytes is what a stored part of a block has behind its cells: their CRC-32C (RFC 3720, B.4) with the part's name and place,
// so that neither a changed byte nor a part in the place of another one counts. Figures and filters are answered from blocks
// alone; SQLite checks how its pages hang together, and not what stands in them.
const sealBytes = 4

var errSeal = errors.New("its checksum does not fit")

func (k chunkKey) sum(data []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(data, table), table, fmt.Appendf(nil, "%s/%d/%d", k.part, k.partition, k.number))
}

// seal gives a part as it is stored.
func (k chunkKey) seal(data []byte) []byte {
	sealed := make([]byte, 0, len(data)+sealBytes)
	return binary.BigEndian.AppendUint32(append(sealed, data...), k.sum(data))
}

// unseal gives the cells of a stored part. They share its memory.
func (k chunkKey) unseal(sealed []byte) ([]byte, error) {
	n := int(k.part.bytes())
	if len(sealed) != n+sealBytes || binary.BigEndian.Uint32(sealed[n:]) != k.sum(sealed[:n]) {
		return nil, &DamagedError{Err: fmt.Errorf("the part %s of block %d of partition %d: %w", k.part, k.number, k.partition, errSeal)}
	}
	return sealed[:n:n], nil
}
