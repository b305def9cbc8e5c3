// Package faults breaks what the program stands on, and looks at what is left:
// power cuts, full and failing disks, damaged files, processes that are killed,
// stopped or crowded. Its tests need Linux, root and time, so they are not among
// the others; `make faults` runs them. With AMBRY_FAULTS=long they go on for
// hours, and with a number everything is tried so often. docs/reliability.md
// tells what they found.
package faults
