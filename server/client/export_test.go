package client

// ReadEvents is the parser of event streams.
var ReadEvents = readEvents
