// Command ambry is one memory for all the coding agents of a machine: the
// service, its memory runtime and the command line in one binary. What they do
// is in internal/app and below; here is only how a person asks for it.
package main

func main() {}
