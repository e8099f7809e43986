package avro

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// take returns the next n bytes.
func (d *decoder) take(n int) ([]byte, error) {
	if n > len(d.data)-d.at {
		return nil, d.malformed("truncated", "the bytes end too early")
	}
	d.at += n
	return d.data[d.at-n : d.at], nil
}

// long reads a number in zig-zag encoding.
func (d *decoder) long() (int64, error) {
	u, n := binary.Uvarint(d.data[d.at:])
	switch {
	case n == 0:
		return 0, d.malformed("truncated", "the bytes end too early")
	case n < 0:
		return 0, d.malformed("long_range", "a number has more than 64 bits")
	}
	d.at += n
	return int64(u>>1) ^ -int64(u&1), nil //nolint:gosec // zig-zag: the bits are the number
}

// length reads the length of a string or of bytes.
func (d *decoder) length() (int, error) {
	n, err := d.long()
	if err != nil {
		return 0, err
	}
	switch {
	case n < 0 || n > int64(len(d.data)-d.at):
		return 0, d.malformed("length", "a length says "+strconv.FormatInt(n, 10)+", and "+strconv.Itoa(len(d.data)-d.at)+" bytes are left")
	case n > int64(d.limits.MaxLiteralBytes):
		return 0, d.fault(classify.CodeLimitExceeded, "max_literal_bytes", "a string or bytes have more than "+
			strconv.Itoa(d.limits.MaxLiteralBytes)+" bytes", "shorten it, or raise limits.max_literal_bytes")
	}
	return int(n), nil
}

// index reads the index of an enum symbol or of a union branch.
func (d *decoder) index(n int, what string) (int, error) {
	i, err := d.long()
	if err != nil {
		return 0, err
	}
	if i < 0 || i >= int64(n) {
		return 0, d.malformed("index", "there is no "+what+" "+strconv.FormatInt(i, 10))
	}
	return int(i), nil
}

func (d *decoder) record(n *node, depth int) (transform.Value, error) {
	if err := d.spend(containerSize + memberSize*len(n.fields)); err != nil {
		return transform.Value{}, err
	}
	members := make([]transform.Member, len(n.fields))
	for i, f := range n.fields {
		value, err := d.value(f.node, depth+1)
		if err != nil {
			return transform.Value{}, under(f.name, err)
		}
		members[i] = transform.Member{Name: f.name, Value: value}
	}
	return transform.ObjectValue(members...), nil
}

// blocks reads an array or a map. Both are sequences of blocks, and each block has a count and as many elements.
func (d *decoder) blocks(n *node, depth int) (transform.Value, error) {
	if err := d.spend(containerSize); err != nil {
		return transform.Value{}, err
	}
	if n.kind == kindMap {
		members, err := elements(d, memberSize, func(int) (transform.Member, error) { return d.entry(n, depth) })
		if err != nil {
			return transform.Value{}, err
		}
		return d.mapValue(members)
	}
	items, err := elements(d, valueSize, func(i int) (transform.Value, error) {
		value, err := d.value(n.items, depth+1)
		if err != nil {
			return value, under(strconv.Itoa(i), err)
		}
		return value, nil
	})
	return transform.ArrayValue(items...), err
}

// elements reads the blocks of a list. Before it allocates, it spends memory for the announced count, but at most for
// one element per remaining byte. When elements that take no bytes exceed that room, it spends memory before the list
// grows.
func elements[T any](d *decoder, size int, read func(int) (T, error)) ([]T, error) {
	var list []T
	for {
		count, err := d.blockCount()
		if err != nil || count == 0 {
			return list, err
		}
		room := int(min(count, int64(len(d.data)-d.at)))
		if err := d.spend(size * room); err != nil {
			return nil, err
		}
		if list == nil { // most lists have one block, so allocate exactly its size
			list = make([]T, 0, room)
		} else {
			list = slices.Grow(list, room)
		}
		for range count {
			if len(list) == cap(list) {
				if err := d.spend(size * max(1, len(list))); err != nil {
					return nil, err
				}
			}
			element, err := read(len(list))
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
	}
}

// blockCount reads the count of a block. The size in bytes follows a negative count, and blockCount skips it. The count
// allocates nothing, because elements bounds the allocation by the remaining bytes.
func (d *decoder) blockCount() (int64, error) {
	count, err := d.long()
	if err != nil || count >= 0 {
		return count, err
	}
	if count == math.MinInt64 {
		return 0, d.malformed("count", "a count cannot be negated")
	}
	_, err = d.long()
	return -count, err
}

// entry reads one key of a map and its value.
func (d *decoder) entry(n *node, depth int) (transform.Member, error) {
	name, err := d.text()
	if err != nil {
		return transform.Member{}, err
	}
	value, err := d.value(n.items, depth+1)
	if err != nil {
		return transform.Member{}, under(name, err)
	}
	return transform.Member{Name: name, Value: value}, nil
}

// mapValue returns the members as an object. It refuses duplicate names.
func (d *decoder) mapValue(members []transform.Member) (transform.Value, error) {
	if err := d.spend(32 * len(members)); err != nil {
		return transform.Value{}, err
	}
	seen := make(map[string]struct{}, len(members))
	for _, m := range members {
		if _, twice := seen[m.Name]; twice {
			return transform.Value{}, d.fault(classify.CodeDuplicateKey, "duplicate_key", "a map has a key twice", "write each key once")
		}
		seen[m.Name] = struct{}{}
	}
	return transform.ObjectValue(members...), nil
}
