package client

// ReadEvents is the parser of the event stream, for its fuzz test.
var ReadEvents = events
