package meaning

// What is usual is told by memories all over the index.
const (
	sampled    = 256     // memories, or a few more, that tell how alike any two texts are
	maxLooked  = 1 << 16 // rows that are looked at for them
	minSampled = 8       // of a script; fewer are taken together with all others
	baseGrowth = 64      // it is told anew when the index has changed by one of so many
)

// base is the mean of vectors all over the index, of each script.
type base struct {
	mean [scripts][]float32
	of   int // memories there were
}

// background returns the mean cosine of v with memories that were not chosen for
// being like it, of each script.
func (x *index) background(v []float32) (mean [scripts]float32) {
	b := x.base.Load()
	if b == nil || max(x.count-b.of, b.of-x.count) > b.of/baseGrowth {
		b = x.newBase()
		x.base.Store(b)
	}
	for i := range mean {
		for j, q := range v {
			mean[i] += q * b.mean[i][j]
		}
	}
	return mean
}

func (x *index) newBase() *base {
	b := &base{of: x.count}
	var n [scripts]int
	for i := range b.mean {
		b.mean[i] = make([]float32, x.dims)
	}
	var buffer [maxDims]byte
	rows := len(x.slabs) * slabRows
	step := max(x.count/sampled, rows/maxLooked) | 1
	for row := 0; row < rows; row += step {
		if !x.has(int64(row)) {
			continue
		}
		codes := x.codes(row, buffer[:])
		if codes == nil {
			continue
		}
		r, script := x.record(row)
		for j, c := range codes {
			b.mean[script][j] += r.scale * float32(int8(c))
		}
		n[script]++
	}
	sum := make([]float32, x.dims)
	for j := range sum {
		for i := range b.mean {
			sum[j] += b.mean[i][j]
		}
	}
	for i := range b.mean {
		of, from := max(n[i], 1), b.mean[i]
		if n[i] < minSampled {
			of, from = max(n[0]+n[1], 1), sum
		}
		for j, x := range from {
			b.mean[i][j] = x / float32(of)
		}
	}
	return b
}
