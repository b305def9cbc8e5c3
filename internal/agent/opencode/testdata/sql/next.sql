-- As the previews of 2.0 kept it, with the names of 1.x for other things. All of it is invented.
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, fork_session_id text, directory text NOT NULL, title text, version text NOT NULL, revert text, time_created integer NOT NULL, time_updated integer NOT NULL, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
INSERT INTO session VALUES ('ses_6000next', 'p', NULL, NULL, '/home/ana/next', 'Next', '0.0.0-next-17028', NULL, 1788000000000, 1788000009000, NULL);
INSERT INTO session_message VALUES ('msg_6000next1', 'ses_6000next', 'user', 1, 1788000001000, 1788000001000, '{"time":{"created":1788000001000},"text":"What is next?"}');
INSERT INTO session_message VALUES ('msg_6000next2', 'ses_6000next', 'shell', 2, 1788000002000, 1788000002000, '{"time":{"created":1788000002000,"completed":1788000003000},"callID":"call_9","command":"date","output":"Sat"}');
INSERT INTO session_message VALUES ('msg_6000next3', 'ses_6000next', 'compaction', 3, 1788000004000, 1788000004000, '{"time":{"created":1788000004000},"reason":"auto","summary":"It is Saturday.","recent":""}');
-- One that 1.x wrote, which is told in parts and, less, as a projection.
INSERT INTO session VALUES ('ses_6100mixed', 'p', NULL, NULL, '/home/ana/next', 'Mixed', '1.16.0', NULL, 1788000010000, 1788000019000, NULL);
INSERT INTO message VALUES ('msg_6100mixed1', 'ses_6100mixed', 1788000011000, 1788000011000, '{"role":"user","time":{"created":1788000011000}}');
INSERT INTO part VALUES ('prt_6100mixed1', 'msg_6100mixed1', 'ses_6100mixed', 1788000011000, 1788000011000, '{"type":"text","text":"All of it."}');
INSERT INTO session_message VALUES ('msg_6100mixed9', 'ses_6100mixed', 'user', 1, 1788000011000, 1788000011000, '{"time":{"created":1788000011000},"text":"A projection."}');
