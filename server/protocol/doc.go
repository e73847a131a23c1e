// Package protocol holds the wire types that cross the control socket, the loopback listener and daemon.json:
// structs, string constants and their JSON names. It has no behaviour and imports nothing of this module, so that
// every side of a conversation can share it.
//
// Durations are integers with their unit in the name (Ms, Us); sizes are bytes; times are RFC 3339 in UTC. A field
// that is absent is unknown, which is not the same as zero: such fields are pointers or are left out when empty.
package protocol

// Version is the version of the protocol: it prefixes every route ("/v1/…") and stands in VersionInfo.
const Version = "v1"

// ServerName is how a companion names itself in GET /health on its HTTP listener: Studio and other companions know it
// by that.
const ServerName = "chatwright-server"
