package index

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
)

// author writes a file: the terms in order, each with its postings, then the
// documents.
type author struct {
	docs   documents
	mean   float32 // of their sizes
	file   *os.File
	out    *bufio.Writer
	err    error
	footer footer
	sum    uint32 // of the section at hand
	at     uint64

	firsts  []byte
	begun   uint64 // where the postings of the block at hand begin
	inBlock int
	last    string // term
	block   []byte
	table   []byte
	list    []byte
}

// create begins a file of documents.
func (x *Index) create(id int64, d documents) (*author, error) {
	f, err := os.OpenFile(pathOf(x.config.Dir, id), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write the text index: %w", err)
	}
	w := &author{docs: d, mean: d.mean(), file: f, out: bufio.NewWriterSize(f, 256<<10)}
	_, _ = rand.Read(w.footer.Mark[:]) // never fails
	copy(w.footer.Magic[:], magic)
	return w, nil
}

func (w *author) write(data []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(data)
	}
	w.sum = crc32.Update(w.sum, castagnoli, data)
	w.at += uint64(len(data))
}

// term writes the postings of the next term, which are in order.
func (w *author) term(term string, list []posting) {
	if len(list) == 0 {
		return
	}
	own, bound := w.pack(list)
	shared := 0
	if w.inBlock == 0 {
		w.block = binary.AppendUvarint(w.block[:0], w.at)
		w.firsts = binary.AppendUvarint(w.firsts, uint64(len(term)))
		w.firsts = append(w.firsts, term...)
		w.begun = w.at
	} else {
		for shared < min(len(term), len(w.last)) && term[shared] == w.last[shared] {
			shared++
		}
	}
	w.block = binary.AppendUvarint(w.block, uint64(shared))
	w.block = binary.AppendUvarint(w.block, uint64(len(term)-shared))
	w.block = append(w.block, term[shared:]...)
	w.block = binary.AppendUvarint(w.block, uint64(len(list)))
	w.block = binary.AppendUvarint(w.block, uint64(own))
	w.block = append(w.block, bound)
	w.block = binary.AppendUvarint(w.block, uint64(len(w.table)+len(w.list)))
	if len(list) > pieceSize {
		w.block = binary.AppendUvarint(w.block, uint64(len(w.table)))
	}
	w.write(w.table)
	w.write(w.list)
	w.last = term
	w.footer.Terms++
	w.footer.Postings += uint64(len(list))
	if w.inBlock++; w.inBlock == blockTerms {
		w.endBlock()
	}
}

// pack encodes a list and its table. It returns how many are in a column of its
// own, and the bound of what they say.
func (w *author) pack(list []posting) (own int, bound byte) {
	w.table, w.list = w.table[:0], w.list[:0]
	if isDense(len(list), len(w.docs.ids)) {
		w.packDense(list)
	} else {
		w.packPieces(list)
	}
	most, per := float32(0), perTerm(w.mean)
	for _, p := range list {
		if p.own() {
			own++
		}
		most = max(most, gain(p.weight(), w.docs.sizes[p.doc()], per))
	}
	return own, boundOf(most)
}

// packPieces encodes a list that is not dense, and its table.
func (w *author) packPieces(list []posting) {
	before := uint32(0)
	last, begun := uint32(0), 0 // of the piece before, and of the piece at hand
	for i, p := range list {
		if i > 0 && i%pieceSize == 0 {
			w.table = binary.AppendUvarint(w.table, uint64(before-last))
			w.table = binary.AppendUvarint(w.table, uint64(len(w.list)-begun))
			last, begun = before, len(w.list)
		}
		w.list = binary.AppendUvarint(w.list, uint64(p.doc()-before))
		w.list = append(w.list, byte(p))
		before = p.doc()
	}
}

func (w *author) endBlock() {
	if w.inBlock == 0 {
		return
	}
	w.firsts = binary.AppendUvarint(w.firsts, w.at-w.begun)
	w.firsts = binary.AppendUvarint(w.firsts, uint64(len(w.block)))
	w.write(w.block)
	w.footer.Blocks++
	w.inBlock = 0
}

// next begins a section and returns where, and the sum of the one before.
func (w *author) next() (at uint64, sum uint32) {
	sum, w.sum = w.sum, 0
	return w.at, sum
}

// end writes the rest, and returns after it is on the disk.
func (w *author) end() error {
	w.endBlock()
	f := &w.footer
	f.Docs = uint64(len(w.docs.ids))
	f.Firsts, f.SumBody = w.next()
	w.write(w.firsts)
	f.Documents, f.SumFirsts = w.next()
	w.write(encodeDocuments(w.docs))
	f.End, f.SumDocuments = w.next()
	f.Sum = f.sum()
	if w.err == nil {
		w.err = binary.Write(w.out, binary.LittleEndian, f)
	}
	if w.err == nil {
		w.err = w.out.Flush()
	}
	if w.err == nil {
		w.err = w.file.Sync()
	}
	if err := errors.Join(w.err, w.file.Close()); err != nil {
		return fmt.Errorf("write the text index: %w", err)
	}
	return syncDir(filepath.Dir(w.file.Name()))
}

// abandon removes what was written.
func (w *author) abandon() {
	_ = w.file.Close()
	_ = os.Remove(w.file.Name())
}

func encodeDocuments(d documents) []byte {
	out := make([]byte, 0, 6*len(d.ids))
	before := int64(0)
	for _, id := range d.ids {
		out = binary.AppendUvarint(out, uint64(id-before))
		before = id
	}
	before = 0
	for _, at := range d.at {
		out = binary.AppendVarint(out, at-before)
		before = at
	}
	for _, n := range d.sizes {
		out = binary.AppendUvarint(out, uint64(n))
	}
	return out
}

// syncDir makes sure that a new file is found after a power loss. Windows does
// so by itself.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("write the text index: %w", err)
	}
	err = d.Sync()
	if err := errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("write the text index: %w", err)
	}
	return nil
}
