-- A history file as version 1 of the schema has it. It was released and never changes.
CREATE TABLE calls (
	id                INTEGER PRIMARY KEY,
	time              INTEGER NOT NULL,
	model             TEXT    NOT NULL,
	latency_ms        INTEGER NOT NULL,
	prompt_tokens     INTEGER NOT NULL,
	completion_tokens INTEGER NOT NULL,
	usage_known       INTEGER NOT NULL,
	response_format   TEXT    NOT NULL,
	streamed          INTEGER NOT NULL,
	status            INTEGER NOT NULL,
	error             TEXT    NOT NULL,
	first_token_ms    INTEGER,
	tokens_per_second REAL    NOT NULL,
	verdict           TEXT    NOT NULL,
	bytes_in          INTEGER NOT NULL,
	bytes_out         INTEGER NOT NULL,
	overhead_us       INTEGER NOT NULL,
	finish_reason     TEXT    NOT NULL,
	upstream          TEXT    NOT NULL,
	call_id           TEXT    NOT NULL,
	failed            INTEGER NOT NULL,
	request_model     TEXT    NOT NULL
) STRICT;
CREATE INDEX calls_by_time ON calls (time);
CREATE INDEX calls_by_model ON calls (model, time);
INSERT INTO calls VALUES (1, 1796000000000000001, 'llama3.2', 1800, 12, 412, 1, 'json_schema', 1, 200, '', 300, 38.5,
	'complete', 4096, 8192, 120, 'stop', 'localhost:11434', 'c1', 0, 'llama3');
INSERT INTO calls VALUES (2, 1796000001000000002, '', 5, 0, 0, 0, '', 0, 0, 'connection refused', NULL, 0.0,
	'unreachable', 10, 0, 4000, '', 'localhost:11434', 'c2', 1, '');
PRAGMA user_version = 1;
