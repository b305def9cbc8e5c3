package meaning

import (
	"fmt"
	"os"
	"slices"
)

// keptBytes is how much of the codes stays in memory: those of the slabs that
// were written to last. The others are read from the shelf, a few hundred vectors
// for each search.
const keptBytes = 4 << 20

// shelf is a file that holds the codes of slabs which are not in memory, each
// slab at the place of its number. What it holds is worth nothing once the
// process has ended: the store has it, too.
type shelf struct {
	open func() (*os.File, error) // nil: all codes stay in memory
	file *os.File                 // nil until it is needed
	kept []int                    // slabs whose codes are in memory, the one written to last at the end
}

// use notes that a slab is written to, and puts those on the shelf that nobody
// has written to for the longest.
func (x *index) use(n int) error {
	s := &x.shelf
	if last := len(s.kept) - 1; last >= 0 && s.kept[last] == n {
		return nil
	}
	if i := slices.Index(s.kept, n); i >= 0 {
		s.kept = slices.Delete(s.kept, i, i+1)
	}
	s.kept = append(s.kept, n)
	for most := max(keptBytes/(slabRows*x.dims), 1); len(s.kept) > most; s.kept = s.kept[1:] {
		if err := x.putAway(s.kept[0]); err != nil {
			return err
		}
	}
	return nil
}

// putAway writes the codes of a slab to the shelf. They stay in memory when that
// does not work.
func (x *index) putAway(n int) error {
	s := x.slabs[n]
	if s == nil || s.codes == nil || x.shelf.open == nil {
		return nil
	}
	if x.shelf.file == nil {
		f, err := x.shelf.open()
		if err != nil {
			return fmt.Errorf("make a file for vectors: %w", err)
		}
		x.shelf.file = f
	}
	if _, err := x.shelf.file.WriteAt(s.codes, x.offset(n, 0)); err != nil {
		return fmt.Errorf("write vectors to a file: %w", err)
	}
	s.codes = nil
	return nil
}

// takeBack reads the codes of a slab into memory.
func (x *index) takeBack(n int) error {
	codes := make([]byte, slabRows*x.dims)
	if _, err := x.shelf.file.ReadAt(codes, x.offset(n, 0)); err != nil {
		return fmt.Errorf("read vectors from a file: %w", err)
	}
	x.slabs[n].codes = codes
	return nil
}

// erase overwrites the codes of a row.
func (x *index) erase(n, i int) {
	if all := x.slabs[n].codes; all != nil {
		clear(all[i*x.dims : (i+1)*x.dims])
		return
	}
	_, _ = x.shelf.file.WriteAt(make([]byte, x.dims), x.offset(n, i)) // the file has no name, and nobody looks there
}

// offset is where the codes of a row are on the shelf.
func (x *index) offset(n, i int) int64 { return (int64(n)*slabRows + int64(i)) * int64(x.dims) }

// codes returns those of a row, which are of use until the next call with the
// same buffer; nil when they cannot be read.
func (x *index) codes(row int, buffer []byte) []byte {
	n, i := row/slabRows, row%slabRows
	if all := x.slabs[n].codes; all != nil {
		return all[i*x.dims : (i+1)*x.dims]
	}
	if _, err := x.shelf.file.ReadAt(buffer[:x.dims], x.offset(n, i)); err != nil {
		return nil
	}
	return buffer[:x.dims]
}

// clear empties the shelf.
func (s *shelf) clear() {
	s.kept = nil
	if s.file != nil {
		_ = s.file.Truncate(0) // what is left is not looked at
	}
}

// close gives the file back.
func (s *shelf) close() {
	if s.file != nil {
		_ = s.file.Close() // nobody wants what is in it
	}
}
