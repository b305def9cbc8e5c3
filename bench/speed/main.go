// Command speed measures the program as people have it: the built binary, both
// its processes, real files and sockets. It prints a row for each number that
// the project promises, with the goal beside it, and writes them as JSON. It
// judges nothing: machines are noisy, so compare rows of one run, and quote
// medians. It needs Linux, for what the kernel says of a process.
//
//	go run ./bench/speed -home DIR      a home with agents' histories; it is not changed
//	go run ./bench/speed -bytes 100MB   one that is made for the purpose
//	go run ./bench/speed -scale 10k,100k,1M   what must not grow with the memory, instead
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

// row is one number.
type row struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Goal  string  `json:"goal,omitempty"`
	Note  string  `json:"note,omitempty"`
}

// report gathers the rows and prints each as it comes.
type report struct {
	Machine string    `json:"machine"`
	Time    time.Time `json:"time"`
	Rows    []row     `json:"rows"`
}

func (r *report) add(name string, value float64, unit, goal, note string) {
	r.Rows = append(r.Rows, row{name, value, unit, goal, note})
	fmt.Printf("%-44s %12.2f %-10s %-12s %s\n", name, value, unit, goal, note)
}

func run(ctx context.Context) error {
	home := flag.String("home", "", "directory with agents' histories")
	bytes := flag.String("bytes", "100MB", "size of the histories to make when there is no -home")
	binary := flag.String("ambry", "bin/ambry", "the program")
	out := flag.String("out", "build/bench/report.json", "where the JSON goes")
	large := flag.Bool("large", false, "also a line of 64 MB and a file of 2 GB")
	scale := flag.String("scale", "", "measure at so many turns instead, as in 10k,100k,1M")
	embedding := flag.String("embedding", "", "the setting memory.embedding, as in off")
	keep := flag.Bool("keep", false, "keep the directory with what was measured, and say where it is")
	flag.Parse()
	if runtime.GOOS != "linux" {
		return fmt.Errorf("only on Linux")
	}
	work, err := os.MkdirTemp("", "ambry-speed-")
	if err != nil {
		return err
	}
	if *keep {
		fmt.Println(work)
	} else {
		defer os.RemoveAll(work)
	}
	r := &report{Machine: fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), Time: time.Now().UTC()}
	fmt.Println(r.Machine)
	b := &bench{report: r, binary: *binary, home: *home, work: work, embedding: *embedding}
	if *scale != "" {
		steps, err := parseSteps(*scale)
		if err != nil {
			return err
		}
		if err := b.scale(ctx, steps); err != nil {
			return err
		}
		return r.write(*out)
	}
	if *home == "" {
		size, err := parseSize(*bytes)
		if err != nil {
			return err
		}
		*home = filepath.Join(work, "home")
		if err := makeHome(*home, size); err != nil {
			return err
		}
		b.home = *home
	}
	if err := b.all(ctx); err != nil {
		return err
	}
	if *large {
		if err := b.largeFiles(ctx); err != nil {
			return err
		}
	}
	return r.write(*out)
}

// write writes the rows as JSON.
func (r *report) write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

func parseSize(s string) (int64, error) {
	unit := int64(1)
	for suffix, n := range map[string]int64{"KB": 1e3, "MB": 1e6, "GB": 1e9} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = rest, n
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("a size is a number and KB, MB or GB, not %q", s)
	}
	return n * unit, nil
}
