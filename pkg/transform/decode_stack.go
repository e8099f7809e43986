package transform

// stack holds the elements of the open arrays (or objects) of a text so far, the innermost at the end. It grows in
// pieces instead of by copying, so that a wide array takes at most twice its own size.
type stack[T any] struct {
	pieces [][]T
	size   int
}

// The sizes of the first and of the largest piece.
const (
	firstPiece   = 32
	largestPiece = 4096
)

// push puts one element on the stack.
func (s *stack[T]) push(v T) {
	last := len(s.pieces) - 1
	if last < 0 || len(s.pieces[last]) == cap(s.pieces[last]) {
		room := firstPiece
		if last >= 0 {
			room = min(2*cap(s.pieces[last]), largestPiece)
		}
		s.pieces = append(s.pieces, make([]T, 0, room))
		last++
	}
	s.pieces[last] = append(s.pieces[last], v)
	s.size++
}

// take removes the elements from begin on and returns them in a slice of exactly their number.
func (s *stack[T]) take(begin int) []T {
	taken := make([]T, s.size-begin)
	for left := len(taken); left > 0; {
		last := len(s.pieces) - 1
		piece := s.pieces[last]
		keep := max(0, len(piece)-left)
		left -= copy(taken[left-(len(piece)-keep):], piece[keep:])
		clear(piece[keep:]) // or the stack would retain them
		s.pieces[last] = piece[:keep]
		if keep == 0 && last > 0 {
			s.pieces[last] = nil
			s.pieces = s.pieces[:last]
		}
	}
	s.size = begin
	return taken
}

// drop empties the stack after an error.
func (s *stack[T]) drop() {
	if s.size > 0 {
		*s = stack[T]{}
	}
}
