// Package control serves the control socket: HTTP/1.1 and server-sent events on a private Unix domain socket (a named
// pipe on Windows), through which the command line, a second launch and the tests ask the running daemon and steer
// it. The socket is the trust boundary: whoever can open it is its owner, so there is no authentication above it.
//
//	GET  /health              {"status":"ok"}
//	GET  /version             protocol.VersionInfo
//	GET  /v1/status           protocol.Status
//	GET  /v1/status/events    the same as server-sent events, newest wins
//	GET  /v1/calls            protocol.CallsPage; ?after=&limit=
//	GET  /v1/history          protocol.HistoryPage; ?since=&until=&model=&limit=&after=
//	POST /v1/shutdown         protocol.ShutdownRequest; 202, or 409 when another instance is meant
//	POST /v1/open             protocol.OpenRequest; protocol.OpenResponse
//	POST /v1/server/start     204 when it is done; so for stop and restart
//	GET  /v1/studio           protocol.StudioStatus
//	POST /v1/studio/update    protocol.StudioUpdateRequest; the StudioStatus when it is done. It joins one that runs
//	POST /v1/studio/rollback  the StudioStatus when it is done; 409 when there is nothing to go back to
//	POST /v1/studio/prune     protocol.StudioPruned
//	POST /v1/studio/cancel    ends a running update, whose own request is answered with 409
//
// Sessions are conversations with a model that go on whoever listens:
//
//	POST   /v1/sessions                  protocol.CreateSessionRequest; 201 protocol.Session
//	GET    /v1/sessions                  protocol.SessionList; ?recorded=1&workspace=
//	GET    /v1/sessions/{id}             protocol.Session, live or recorded
//	DELETE /v1/sessions/{id}             ends it, 204; ?purge=1 removes its record too
//	POST   /v1/sessions/{id}/name        protocol.RenameRequest; 204
//	GET    /v1/sessions/{id}/events      its events from ?from=N on, as a stream; or a protocol.EventsPage, by Accept
//	POST   /v1/sessions/{id}/turns       protocol.TurnRequest; 202 protocol.TurnResponse, 409 while a turn runs
//	POST   /v1/sessions/{id}/interrupt   ends the turn that runs, if one does; 204
//	POST   /v1/sessions/{id}/steer       protocol.SteerRequest; 202, 409 while no turn runs
//	POST   /v1/sessions/{id}/undo        protocol.UndoResponse; 404 as long as no turn changes files
//	POST   /v1/sessions/{id}/approvals/{approval_id}
//	                                     protocol.ApprovalRequest; 404 as long as no turn asks
//	GET    /v1/specs                     protocol.SpecList; ?workspace=
//
// Every error is a protocol.Error.
//
// # A session by hand
//
// SOCK is the path of the socket, as daemon.json in the state folder names it. The host in the URL is of no consequence.
//
//	$ curl -s --unix-socket $SOCK http://d/v1/sessions -d '{"workspace":"/tmp"}'
//	{"id":"20261130-154353764-k7ra","state":"idle","live":true,"workspace":"/tmp","model":"","upstream":"","sandbox_mode":"read-only","created_at":"2026-11-30T15:43:53.764717246Z","last_seq":1,"first_seq":1,"title":""}
//
//	$ curl -s --unix-socket $SOCK http://d/v1/sessions/20261130-154353764-k7ra/turns -d '{"text":"What is a cart?"}'
//	{"turn_id":"t2"}
//
//	$ curl -s --unix-socket $SOCK -H 'Accept: application/json' 'http://d/v1/sessions/20261130-154353764-k7ra/events?from=3'
//	{"events":[{"seq":3,"session_id":"20261130-154353764-k7ra","type":"message.delta","at":"2026-11-30T15:43:53.764717246Z","payload":{"turn_id":"t2","text":"It holds what you mean to buy."}},{"seq":4,"session_id":"20261130-154353764-k7ra","type":"turn.completed","at":"2026-11-30T15:43:53.764717246Z","payload":{"turn_id":"t2","reason":"done","model":"llama3.2"}}],"next":5}
//
//	$ curl -s --unix-socket $SOCK http://d/v1/sessions/20261130-154353764-k7ra/steer -d '{"text":"shorter"}'
//	{"code":"no_active_turn","message":"no turn is running","hint":"begin one"}
//
//	$ curl -s --unix-socket $SOCK -X DELETE http://d/v1/sessions/20261130-154353764-k7ra
//
// With curl -N the events come as they happen. A session that has ended says so, and the stream ends:
//
//	$ curl -sN --unix-socket $SOCK 'http://d/v1/sessions/20261130-154353764-k7ra/events?from=4'
//	retry: 1000
//
//	id: 4
//	data: {"seq":4,"session_id":"20261130-154353764-k7ra","type":"turn.completed","at":"2026-11-30T15:43:53.764717246Z","payload":{"turn_id":"t2","reason":"done","model":"llama3.2"}}
//
//	event: closed
//	data: {}
//
//	$ curl -s --unix-socket $SOCK 'http://d/v1/sessions?recorded=1&workspace=/tmp'
//	{"sessions":[{"id":"20261130-154353764-k7ra","state":"closed","live":false,"workspace":"/tmp","model":"","upstream":"","sandbox_mode":"read-only","created_at":"2026-11-30T15:43:53.764717246Z","last_seq":4,"first_seq":1,"title":"What is a cart?"}]}
package control
