// Package server is the companion: an HTTP server on loopback that stands between a browser page and a local model
// server, proves what an application stored, and serves the page itself. New makes one from a Config, Serve runs it
// until its context ends.
//
//	method  path                   answers
//	GET     /health                {"name","version","capabilities"}: how a page recognises the companion
//	GET     /metrics               the last calls, a bare JSON array, oldest first; or text for Prometheus, by Accept
//	POST    /v1/chat/completions   what {upstream}/chat/completions answers, byte for byte, metered as it passes
//	GET     /v1/models             what {upstream}/models answers
//	POST    /datastate/query       {"verdict","rows","detail"}: does the stored data meet the expectations; "evidence" on request
//	GET     /datastate/holders     the databases and fixtures by name, with their kinds and whether they answer
//	GET     /console/events        server-sent events: "status" (protocol.Status) and "calls" (protocol.CallsPage)
//	GET     /console/calls         {"calls","next"}: newest first, narrowed down; ?before=&limit=&model=&status=&verdict=&text=
//	GET     /console/models        protocol.OfferedModels; this and what follows if Config.Console has it
//	GET     /console/upstreams     protocol.Upstreams
//	GET     /console/doctor        {"checks":[protocol.Check]}
//	GET     /console/settings      {"settings":[protocol.SettingValue]}, without secrets
//	GET     /console/capture       protocol.CaptureState; below it /{id} protocol.CapturedCall, /{id}/cassette a recording
//	POST    /console/actions/{a}   204, or {"error","hint"}: protocol.ConsoleAction, with the token of the page
//	GET     /studio/version        {"version","sha256","uiContract","installedAt","source"} of the copy at "/"; 404 without one
//	GET     /studio/status         protocol.StudioStatus: how far an update is
//	GET     /console/              the embedded page and its files
//	GET     /console/api/sessions  protocol.SessionList, and below it /events protocol.EventsPage; if Config.Sessions is set
//	GET     /                      the Studio copy, with index.html for its deep links; without one, the embedded page
//	OPTIONS any                    204, reaching no route: a preflight
//
// HEAD answers like GET without a body. A wrong method is 405 with Allow. Errors are {"error":"…"}, under /v1/ the
// error object of the OpenAI API. routes.go is this table as code.
//
// Every request passes the guard first (guard.go): it must name a host that is ours, come from an origin that is
// allowed or from no page at all, and, when the listener is not loopback, carry the token. What stands below /console/
// but /console/events answers pages of its own origin alone, and programs. An action wants a token besides, and so does
// what was said in calls and sessions: it is made at each start of the process, and stands in the page of the console where
// that is opened in a tab (pagetoken.go).
//
// Start, Stop and the PID file functions run the companion as a detached process (daemon.go).
//
// # Where things are
//
//	server.go       Config, New: what a Server is made of       proxy       one call to the upstream, metered as it passes
//	serve.go        Serve: the listener, the grace, the end     upstream    where calls go, and the demo model
//	routes.go       every route, and the shape of errors        metrics     the calls that are kept, and their totals
//	guard.go        who may call; origin.go parses              datastate   assertions on stored data
//	events.go       the event stream of the console             studio      the offline copy of Studio
//	sessions.go     what the console shows of sessions          chat        what a turn asks of a model server
//	consoleapi.go   what it shows and does besides              cassette    calls as files, to be replayed
//	pagetoken.go    whom it obeys                               capture     what is said in calls, while the user wants it
//	ui.go           what "/" serves; csp.go, mime.go, gzip.go   control     the control socket, with client and protocol
//	datastate.go    /datastate/query; holders.go, its stores    watch       a value whose readers are woken
//	daemon.go       the detached process; pidfile.go            hint        errors that name the way out
//	                                                            history     the calls of ninety days, in SQLite
//	                                                            session     conversations with models, event by event
//	                                                            telemetry   calls told to an OpenTelemetry collector
//	                                                            wholefile   files that appear whole
package server
