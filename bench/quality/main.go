// Command quality measures how well the memory finds what was meant: our own
// set of invented coding sessions, and public sets when their directory is
// given. It asks the engine as every caller does and judges nothing but order;
// how fast and how large the program is, is measured by bench/speed.
//
//	go run ./bench/quality                    our own set
//	go run ./bench/quality -data DIR          the public ones too
//	go run ./bench/quality -set own -v        each question that was missed
//	go run ./bench/quality -data DIR -fit FILE  fits the weights of the second stage
//	go run ./bench/quality -floors            fails when a number is below its floor
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"ambry.dev/ambry/internal/model"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quality:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	sets       []string
	data       string
	half       string
	out        string
	verbose    bool
	floors     bool
	weights    string
	fitMeaning bool
	model      model.Embedder // nil: words only
}

func parseOptions(args []string) (options, error) {
	var o options
	var sets string
	flags := flag.NewFlagSet("quality", flag.ContinueOnError)
	flags.StringVar(&sets, "set", "", "sets to measure, joined by commas: "+strings.Join(setNames(), ", ")+"; all that there are if absent")
	flags.StringVar(&o.data, "data", "", "directory of the public sets: locomo/, beam/100K/, cmrc2018/, drcd/")
	flags.StringVar(&o.half, "half", "", "questions of one half of our own set and of LoCoMo: fit, to choose weights on, or judge")
	flags.StringVar(&o.out, "json", "", "file for the numbers and for the ranking of every question")
	flags.BoolVar(&o.verbose, "v", false, "show each question whose evidence is not first")
	flags.BoolVar(&o.floors, "floors", false, "fail when a number is below its floor")
	flags.StringVar(&o.weights, "fit", "", "fit the weights of the second stage on the halves to choose them on, and write them to this file: internal/memory/recall/weights.json")
	flags.BoolVar(&o.fitMeaning, "fit-meaning", false, "try numbers for the embedding model, on the halves to choose them on")
	name := flags.String("embedding", noModel, "embedding model: off, static, or PROVIDER:MODEL with its key in "+keyVariable)
	url := flags.String("embedding-url", "", "where PROVIDER is, if not where it usually is")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	var err error
	if o.model, err = embedder(*name, *url); err != nil {
		return options{}, err
	}
	if o.fitMeaning && o.model == nil {
		return options{}, fmt.Errorf("-fit-meaning needs -embedding")
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.half != "" && o.half != fit && o.half != judge {
		return options{}, fmt.Errorf("-half is fit or judge, not %q", o.half)
	}
	if sets != "" {
		o.sets = strings.Split(sets, ",")
	}
	for _, name := range o.sets {
		if !slices.Contains(setNames(), name) {
			return options{}, fmt.Errorf("no set %q; there are %s", name, strings.Join(setNames(), ", "))
		}
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	if o.fitMeaning {
		return fitMeaning(ctx, stdout, o)
	}
	if o.weights != "" {
		return fitWeights(ctx, stdout, o)
	}
	var results []*result
	for _, s := range sets {
		if len(o.sets) > 0 && !slices.Contains(o.sets, s.name) || s.public && o.data == "" {
			continue
		}
		corpora, err := s.load(o)
		if err != nil {
			return fmt.Errorf("load %s: %w", s.name, err)
		}
		for i := range corpora {
			corpora[i].model = o.model
		}
		r, err := measure(ctx, s.name, corpora)
		if err != nil {
			return fmt.Errorf("measure %s: %w", s.name, err)
		}
		r.print(stdout)
		if o.verbose {
			r.printMisses(stdout)
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		return fmt.Errorf("nothing to measure; the public sets need -data")
	}
	if o.out != "" {
		if err := save(o.out, results); err != nil {
			return err
		}
	}
	if low := printFloors(stdout, results); o.floors && low > 0 {
		return fmt.Errorf("%d numbers are below their floors", low)
	}
	return nil
}
