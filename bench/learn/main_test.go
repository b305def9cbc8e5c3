package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestNineOfTenJudgedAreUseful(t *testing.T) {
	f, err := os.Open("judged.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out bytes.Buffer
	if err := count(f, &out); err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(strings.SplitN(out.String(), "\n", 2)[0]) // all N of M useful
	useful, err := strconv.Atoi(all[1])
	if err != nil {
		t.Fatal(err)
	}
	judged, err := strconv.Atoi(all[3])
	if err != nil {
		t.Fatal(err)
	}
	if judged < 100 || 10*useful < 9*judged {
		t.Errorf("%s", &out)
	}
}

func TestAnotherVerdictIsRefused(t *testing.T) {
	if err := count(strings.NewReader("maybe\thome\trule\ttitle\n"), &bytes.Buffer{}); err == nil {
		t.Error("it was counted")
	}
}
