package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// fewWatches is less than what an agent of some years needs: one for each
// directory of its history.
const fewWatches = 16_384

// checkSystem looks at the limits that following files runs into.
func checkSystem() []check {
	const path = "/proc/sys/fs/inotify/max_user_watches"
	data, err := os.ReadFile(path)
	if err != nil {
		return nil // a system without inotify is one without this limit
	}
	c := check{Name: "inotify", Verdict: good}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		c.Verdict, c.Message = warn, "the limit is not a number"
		return []check{c}
	}
	c.Message = fmt.Sprintf("%s directories can be watched", count(n))
	if n < fewWatches {
		c.Verdict, c.Hint = warn, "as root: sysctl fs.inotify.max_user_watches=524288; until then new history may be seen late"
	}
	return []check{c}
}
