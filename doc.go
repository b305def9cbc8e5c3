// Package ambry is the language of the house: the types that every part
// speaks, with their JSON names. It has no I/O and starts no goroutine.
//
// # The tour
//
// Ambry is one memory for every coding agent on a machine. One binary runs as
// two processes. The service (ambry serve, package internal/app) listens on
// 127.0.0.1 and reads the histories that agents keep. The memory runtime
// (ambry memory, internal/memory/engine) is its child: the only process that
// opens memory.db. Three flows go through them.
//
// A scan goes down and never up: internal/scan asks each agent (internal/agent
// and its folders) for the [Conversation]s that are new since a mark, has
// internal/redact take the secrets out, hands them to the runtime through
// internal/memory, and only then moves the mark. Stopping, crashing, resuming
// and "what is new" are therefore one mechanism. Progress is published as
// [ScanProgress] and [ScanCompletion] on internal/event.
//
// A search is a [Query] that becomes an [Answer]. It passes the guard of
// internal/web, is proxied byte by byte to the runtime (internal/memory/host),
// and is answered by internal/memory/recall from internal/memory/store. Each
// [Hit] says where it comes from, down to file and line. A runtime that is down
// is an error of kind [MemoryUnavailable], never an empty answer.
//
// Of the memory, only store writes rows. Below it are the file itself
// (internal/memory/sqlite), what is kept and found of a turn (document) and the
// rows as they are read (tables); report and dump read them for who looks, and
// for who takes everything along.
//
// A conversation is what somebody writes on a channel. A provider
// (internal/channel and its folders) passes it on, internal/gateway hears only
// those who were paired, internal/converse answers from the memory, and the
// answer goes back the way it came.
//
// An error keeps its [Kind] through both processes and becomes one problem
// document at the edge.
//
// To add an agent, a route, an event or a command, see CONTRIBUTING.md: each is
// one new file or folder and one line in a list.
package ambry
