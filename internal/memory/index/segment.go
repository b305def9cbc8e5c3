package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Segment names a file of the index. Its owner keeps the list.
type Segment struct {
	ID   int64  // number of the file
	Seq  int64  // what is newer goes before what is older
	Mark string // random, and in the file too: a file of another index is refused
}

// A file is, in this order:
//
//	for every blockTerms terms: the list of each, then a block of the dictionary:
//	where the list of the first begins, then for each term the length of what it
//	shares with the one before, the length of the rest, the rest, how many postings
//	it has, how many of them are in a column of its own, the bound of what they say
//	in one byte (see boundOf), the bytes of the list, and of a list of several
//	pieces those of its table;
//	for each of these: its first term, the length of the postings, and that of
//	the block;
//	the documents: distance of the ids, distance of the times, sizes;
//	the footer.
//
// A list is for each document its distance from the one before and its code (see
// posting), in pieces of pieceSize. A list of several has a table before it: for
// each piece but the last the distance of its last document from that of the piece
// before, and its bytes. A list of more than pieceSize that has many of the documents
// is written otherwise (see blockDocs).
//
// Numbers are varints (encoding/binary), distances of times zigzag ones. The
// footer has a fixed size and holds checksums of all that is before it.
const (
	magic      = "ambryix3"
	blockTerms = 64
	footerSize = 7*8 + 3*4 + 16 + 4 + len(magic)
	maxTerm    = 1 << 16
)

// footer says where the parts of a file are.
type footer struct {
	Firsts, Documents, End           uint64 // where each begins
	Docs, Terms, Blocks, Postings    uint64 // counts
	SumBody, SumFirsts, SumDocuments uint32 // CRC-32C
	Mark                             [16]byte
	Sum                              uint32 // of the footer up to here
	Magic                            [len(magic)]byte
}

// sum is the checksum of the footer.
func (f footer) sum() uint32 {
	var out bytes.Buffer
	_ = binary.Write(&out, binary.LittleEndian, f) // into memory, never fails
	return crc32.Checksum(out.Bytes()[:footerSize-4-len(magic)], castagnoli)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segment is an open file. The documents and the first terms are in memory, the
// rest is read when it is asked for.
type segment struct {
	Segment
	documents
	file   *os.File
	path   string
	footer footer
	first  []string // term of each block
	blocks []extent
	mean   float32 // of the sizes of all documents
	places places
}

// extent is where a block of the dictionary is.
type extent struct {
	at     uint64
	length uint32
}

const suffix = ".idx"

func pathOf(dir string, id int64) string {
	return filepath.Join(dir, fmt.Sprintf("%08d%s", id, suffix))
}

// numberOf returns the number of a file of an index, whole or half written.
func numberOf(name string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 8 {
		return 0, false
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, err == nil
}

// ErrDamaged is in the error for a file that is not as it was written, or that the
// disk does not give.
var ErrDamaged = errors.New("the file of the text index is damaged")

func damaged(what string) error { return fmt.Errorf("%w: %s", ErrDamaged, what) }

func openSegment(dir string, of Segment) (*segment, error) {
	path := pathOf(dir, of.ID)
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the text index: %w", err)
	}
	s := &segment{Segment: of, file: f, path: path}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

func (s *segment) close() error { return s.file.Close() }

func (s *segment) docs() *documents { return &s.documents }

func (s *segment) find(doc int64) (uint32, bool) {
	i, ok := slices.BinarySearch(s.ids, doc)
	return uint32(i), ok && !s.dead.has(uint32(i))
}

// load reads what is kept in memory.
func (s *segment) load() error {
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("open the text index: %w", err)
	}
	if info.Size() < int64(footerSize) {
		return damaged("it is too short")
	}
	tail := make([]byte, footerSize)
	if err := s.readInto(tail, uint64(info.Size())-uint64(footerSize)); err != nil {
		return err
	}
	f := &s.footer
	if err := binary.Read(bytes.NewReader(tail), binary.LittleEndian, f); err != nil {
		return fmt.Errorf("read the text index: %w", err)
	}
	switch {
	case string(f.Magic[:]) != magic:
		return damaged("it has no end")
	case f.Sum != f.sum():
		return damaged("a checksum differs")
	case string(f.Mark[:]) != s.Mark:
		return damaged("it is of another index")
	case f.End != uint64(info.Size())-uint64(footerSize) || f.Documents > f.End || f.Firsts > f.Documents,
		f.Docs > maxDocs || f.Docs > f.End || f.Blocks > f.End:
		return damaged("its parts do not fit")
	}
	if err := s.loadFirsts(); err != nil {
		return err
	}
	return s.loadDocuments()
}

// section reads a part of the file and compares its checksum.
func (s *segment) section(from, to uint64, sum uint32) ([]byte, error) {
	data := make([]byte, to-from)
	if err := s.readInto(data, from); err != nil {
		return nil, err
	}
	if crc32.Checksum(data, castagnoli) != sum {
		return nil, damaged("a checksum differs")
	}
	return data, nil
}

func (s *segment) loadFirsts() error {
	data, err := s.section(s.footer.Firsts, s.footer.Documents, s.footer.SumFirsts)
	if err != nil {
		return err
	}
	all := string(data) // the terms are pieces of it
	in := reader{data: data}
	end := uint64(0)
	for range s.footer.Blocks {
		n := in.number()
		at := in.at
		in.skip(n)
		s.first = append(s.first, all[at:in.at])
		end += in.number()
		length := in.number()
		s.blocks = append(s.blocks, extent{end, uint32(length)})
		end += length
		if in.err != nil || length > s.footer.Firsts || end > s.footer.Firsts {
			return damaged("its dictionary does not fit")
		}
	}
	if end != s.footer.Firsts || in.at != len(data) {
		return damaged("its dictionary does not fit")
	}
	return nil
}

func (s *segment) loadDocuments() error {
	data, err := s.section(s.footer.Documents, s.footer.End, s.footer.SumDocuments)
	if err != nil {
		return err
	}
	in := reader{data: data}
	n := int(s.footer.Docs)
	s.ids, s.at, s.sizes, s.dead = make([]int64, n), make([]int64, n), make([]uint16, n), newBits(n)
	id, at := int64(0), int64(0)
	for i := range n {
		id += int64(in.number())
		s.ids[i] = id
	}
	for i := range n {
		at += in.signed()
		s.at[i] = at
	}
	for i := range n {
		s.sizes[i] = uint16(in.number())
	}
	if in.err != nil || in.at != len(data) || !slices.IsSorted(s.ids) {
		return damaged("its documents do not fit")
	}
	s.mean = s.documents.mean()
	return nil
}

// block reads a block of the dictionary and calls each, until that returns false.
// The terms are good until the next call.
func (s *segment) block(i int, each func(term []byte, w word) bool) error {
	data, free, err := s.read(s.blocks[i].at, uint64(s.blocks[i].length))
	if err != nil {
		return err
	}
	defer free()
	in := reader{data: data}
	offset := in.number()
	var term []byte
	for in.at < len(data) {
		shared, n := in.number(), in.number()
		if in.err != nil || shared > uint64(len(term)) || n > maxTerm {
			return damaged("its dictionary does not fit")
		}
		term = append(term[:shared], in.bytes(n)...)
		w := word{n: int(in.number()), own: int(in.number()), bound: in.byte(), offset: offset, length: in.number()}
		if w.n > pieceSize {
			w.table = in.number()
		}
		offset += w.length
		if in.err != nil || offset > s.footer.Firsts || w.length > s.footer.Firsts || w.n > len(s.ids) || w.own > w.n ||
			w.table > w.length || uint64(w.n) > w.length-w.table {
			return damaged("its dictionary does not fit")
		}
		if !each(term, w) {
			return nil
		}
	}
	return in.err
}

// pages is room for what is read of files, used again.
var pages = sync.Pool{New: func() any { return new([]byte) }}

// maxPage bounds the room that is kept.
const maxPage = 1 << 18

// read reads bytes of the file. They are good until free is called.
func (s *segment) read(at, length uint64) (data []byte, free func(), err error) {
	room := pages.Get().(*[]byte)
	if uint64(cap(*room)) < length {
		*room = make([]byte, length)
	}
	data = (*room)[:length]
	free = func() {
		if cap(*room) <= maxPage {
			pages.Put(room)
		}
	}
	if err := s.readInto(data, at); err != nil {
		free()
		return nil, nil, err
	}
	return data, free, nil
}

// readInto fills data with bytes of the file.
func (s *segment) readInto(data []byte, at uint64) error {
	_, err := s.file.ReadAt(data, int64(at))
	return unread(err)
}

// unread is the error of who could not read a file.
func unread(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrClosed): // it was removed
		return fmt.Errorf("read the text index: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// blockOf returns the block that a term is in, if it is in any.
func (s *segment) blockOf(term string) int {
	i, exact := slices.BinarySearch(s.first, term)
	if exact {
		return i
	}
	return i - 1
}

func (s *segment) terms(to []string, beginning string, limit int, keep func([]byte) bool) ([]string, error) {
	for i := max(s.blockOf(beginning), 0); i < len(s.first) && limit > 0; i++ {
		more := true
		err := s.block(i, func(t []byte, _ word) bool {
			switch {
			case bytes.HasPrefix(t, []byte(beginning)):
				if limit--; keep(t) {
					to = append(to, string(t))
				}
			case string(t) > beginning:
				more = false
			}
			return more && limit > 0
		})
		if err != nil || !more {
			return to, err
		}
	}
	return to, nil
}

// Verify reads all files and compares the checksums. Others may search and change
// the index meanwhile; a file that is removed before its turn is not looked at.
func (x *Index) Verify() error {
	x.mu.RLock()
	segments := slices.Clone(x.segments)
	x.mu.RUnlock()
	for _, s := range segments {
		if err := s.verify(); err != nil && !errors.Is(err, os.ErrClosed) {
			return err
		}
	}
	return nil
}

func (s *segment) verify() error {
	f := s.footer
	for _, part := range []struct {
		from, to uint64
		sum      uint32
	}{{0, f.Firsts, f.SumBody}, {f.Firsts, f.Documents, f.SumFirsts}, {f.Documents, f.End, f.SumDocuments}} {
		h := crc32.New(castagnoli)
		if _, err := io.Copy(h, io.NewSectionReader(s.file, int64(part.from), int64(part.to-part.from))); err != nil {
			return unread(err)
		}
		if h.Sum32() != part.sum {
			return damaged("a checksum differs")
		}
	}
	return nil
}

// Size returns the bytes of all files.
func (x *Index) Size() (n int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, s := range x.segments {
		n += int64(s.footer.End)
	}
	return n
}

// reader reads numbers from bytes; the first error stays.
type reader struct {
	data []byte
	at   int
	err  error
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.data[r.at:])
	if size <= 0 {
		r.err = damaged("it is too short")
		return 0
	}
	r.at += size
	return n
}

func (r *reader) signed() int64 {
	n := r.number()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *reader) byte() byte {
	if r.at >= len(r.data) {
		r.err = damaged("it is too short")
		return 0
	}
	r.at++
	return r.data[r.at-1]
}

func (r *reader) bytes(n uint64) []byte {
	at := r.at
	r.skip(n)
	return r.data[at:r.at]
}

func (r *reader) skip(n uint64) {
	if n > uint64(len(r.data)-r.at) {
		r.err = damaged("it is too short")
		return
	}
	r.at += int(n)
}
