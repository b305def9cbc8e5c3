-- As OpenCode 2.0 keeps it beside what it took over from 1.18. All of it is invented.
PRAGMA journal_mode = WAL;
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL, title text NOT NULL, version text NOT NULL, revert text, time_created integer NOT NULL, time_updated integer NOT NULL, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE session_v2 (
  id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text, fork_session_id text, fork_boundary text, slug text NOT NULL, directory text NOT NULL, path text, title text, version text NOT NULL,
  cost real DEFAULT 0 NOT NULL, revert text, permission text, agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL, time_archived integer, time_idle integer, idle_outcome text
);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);

-- Taken over; went on in 2.0.
INSERT INTO session VALUES ('ses_1000taken', 'global', NULL, 'a', '/home/ana/shop', 'Taken over', '1.18.32', NULL, 1790000000000, 1790000010000, NULL);
INSERT INTO message VALUES ('msg_1000taken1', 'ses_1000taken', 1790000001000, 1790000001000, '{"role":"user","time":{"created":1790000001000}}');
INSERT INTO part VALUES ('prt_1000taken1', 'msg_1000taken1', 'ses_1000taken', 1790000001000, 1790000001000, '{"type":"text","text":"Say hi."}');
INSERT INTO message VALUES ('msg_1000taken2', 'ses_1000taken', 1790000002000, 1790000003000, '{"role":"assistant","time":{"created":1790000002000,"completed":1790000003000},"modelID":"m1","providerID":"fake","tokens":{"input":10,"output":3,"reasoning":0,"cache":{"read":2,"write":0}}}');
INSERT INTO part VALUES ('prt_1000taken2', 'msg_1000taken2', 'ses_1000taken', 1790000002000, 1790000003000, '{"type":"tool","callID":"call_1","tool":"bash","state":{"status":"completed","input":{"command":"echo hi"},"output":"hi\n","title":"","metadata":{"exit":0},"time":{"start":1790000002500,"end":1790000002600}}}');
INSERT INTO session_v2 (id, project_id, slug, directory, title, version, time_created, time_updated) VALUES ('ses_1000taken', 'global', 'a', '/home/ana/shop', 'Taken over', '1.18.32', 1790000000000, 1790000020000);
INSERT INTO session_message VALUES ('msg_1000taken1', 'ses_1000taken', 'user', 0, 1790000001000, 1790000001000, '{"text":"Say hi.","time":{"created":1790000001000}}');
INSERT INTO session_message VALUES ('msg_1000taken2', 'ses_1000taken', 'assistant', 1, 1790000002000, 1790000003000, '{"agent":"build","model":{"providerID":"fake","id":"m1","variant":"default"},"content":[{"type":"tool","id":"call_1","name":"bash","state":{"status":"completed","input":{"command":"echo hi"},"content":[{"type":"text","text":"hi\n"}],"metadata":{"exit":0}},"time":{"created":1790000002500,"completed":1790000002600}}],"tokens":{"input":10,"output":3,"reasoning":0,"cache":{"read":2,"write":0}},"time":{"created":1790000002000,"completed":1790000003000}}');
INSERT INTO session_message VALUES ('msg_1000taken3', 'ses_1000taken', 'system', 2, 1790000003000, 1790000003000, '{"text":"The available tools have changed.","time":{"created":1790000003000}}');
INSERT INTO session_message VALUES ('msg_1000taken4', 'ses_1000taken', 'agent-switched', 3, 1790000015000, 1790000015000, '{"time":{"created":1790000015000},"agent":"build"}');
INSERT INTO session_message VALUES ('msg_1000taken5', 'ses_1000taken', 'user', 7, 1790000016000, 1790000016000, '{"time":{"created":1790000016000},"text":"And now?","files":[{"mime":"image/png","name":"now.png","data":"iVBORw0KGgoAAAAN","source":{"type":"inline"}}]}');
INSERT INTO session_message VALUES ('msg_1000taken6', 'ses_1000taken', 'assistant', 8, 1790000017000, 1790000020000, '{"time":{"created":1790000017000,"streamed":1790000019000,"completed":1790000020000},"agent":"build","model":{"id":"m1","providerID":"fake","variant":"default"},"content":[{"type":"reasoning","text":"This is not kept.","time":{"created":1790000017000}},{"type":"text","text":"Still hi."},{"type":"tool","id":"call_2","name":"shell","executed":false,"state":{"status":"completed","input":{"command":"exit 7"},"content":[{"type":"text","text":"bye"},{"type":"text","text":"Command exited with code 7."}],"metadata":{"status":"completed","truncated":false,"exit":7}},"time":{"created":1790000018000,"ran":1790000018100,"completed":1790000018200}},{"type":"tool","id":"call_3","name":"read","executed":false,"state":{"status":"error","input":{"path":"none"},"error":{"type":"tool.execution","message":"File not found: none"}},"time":{"created":1790000018300}},{"type":"tool","id":"call_4","name":"subagent","executed":false,"state":{"status":"completed","input":{"agent":"general","prompt":"Look around."},"content":[{"type":"text","text":"Nothing."},{"type":"file","uri":"data:image/gif;base64,R0lGODlhAQ","mime":"image/gif","name":"dot.gif"}],"metadata":{"sessionID":"ses_0900child"}},"time":{"created":1790000018400}},{"type":"tool","id":"call_5","name":"write","state":{"status":"streaming","input":"{\"path\":\"a"},"time":{"created":1790000018500}}],"finish":"tool-calls","cost":0.01,"tokens":{"input":100,"output":20,"reasoning":30,"cache":{"read":50,"write":10}}}');
INSERT INTO session_message VALUES ('msg_1000taken7', 'ses_1000taken', 'idle', 9, 1790000020000, 1790000020000, '{"time":{"created":1790000020000},"outcome":"succeeded"}');
INSERT INTO session_v2 (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated) VALUES ('ses_0900child', 'global', 'ses_1000taken', 'b', '/home/ana/shop', 'Look around', '2.0.26', 1790000018400, 1790000018900);
INSERT INTO session_message VALUES ('msg_0900child1', 'ses_0900child', 'user', 4, 1790000018500, 1790000018500, '{"time":{"created":1790000018500},"text":"You are a subagent spawned by another session.\nLook around."}');

-- Taken over, and left alone.
INSERT INTO session VALUES ('ses_0800same', 'global', NULL, 's', '/home/ana', 'Same', '1.18.32', NULL, 1789000000000, 1789000010000, NULL);
INSERT INTO message VALUES ('msg_0800same1', 'ses_0800same', 1789000001000, 1789000001000, '{"role":"user","time":{"created":1789000001000}}');
INSERT INTO part VALUES ('prt_0800same1', 'msg_0800same1', 'ses_0800same', 1789000001000, 1789000001000, '{"type":"text","text":"As 1.18 has it."}');
INSERT INTO session_v2 (id, project_id, slug, directory, title, version, time_created, time_updated) VALUES ('ses_0800same', 'global', 's', '/home/ana', 'Same', '1.18.32', 1789000000000, 1789000010000);
INSERT INTO session_message VALUES ('msg_0800same1', 'ses_0800same', 'user', 0, 1789000001000, 1789000001000, '{"text":"As 2.0 has it.","time":{"created":1789000001000}}');

-- Taken over; went on in 1.18, too.
INSERT INTO session VALUES ('ses_2000both', 'global', NULL, 'c', '/home/ana', 'Both', '1.18.32', NULL, 1790000100000, 1790000140000, NULL);
INSERT INTO message VALUES ('msg_2000both1', 'ses_2000both', 1790000101000, 1790000101000, '{"role":"user","time":{"created":1790000101000}}');
INSERT INTO part VALUES ('prt_2000both1', 'msg_2000both1', 'ses_2000both', 1790000101000, 1790000101000, '{"type":"text","text":"First, in 1.18."}');
INSERT INTO message VALUES ('msg_2000both3', 'ses_2000both', 1790000140000, 1790000140000, '{"role":"user","time":{"created":1790000140000}}');
INSERT INTO part VALUES ('prt_2000both3', 'msg_2000both3', 'ses_2000both', 1790000140000, 1790000140000, '{"type":"text","text":"Third, in 1.18 again."}');
INSERT INTO session_v2 (id, project_id, slug, directory, title, version, time_created, time_updated) VALUES ('ses_2000both', 'global', 'c', '/home/ana', 'Both', '1.18.32', 1790000100000, 1790000120000);
INSERT INTO session_message VALUES ('msg_2000both1', 'ses_2000both', 'user', 0, 1790000101000, 1790000101000, '{"text":"First, in 1.18.","time":{"created":1790000101000}}');
INSERT INTO session_message VALUES ('msg_2000both2', 'ses_2000both', 'user', 5, 1790000120000, 1790000120000, '{"text":"Second, in 2.0.","time":{"created":1790000120000}}');

-- Never taken over: made in 1.18 after the migration.
INSERT INTO session VALUES ('ses_3000late', 'global', NULL, 'd', '/home/ana', 'Late', '1.18.32', NULL, 1790000200000, 1790000210000, NULL);
INSERT INTO message VALUES ('msg_3000late1', 'ses_3000late', 1790000201000, 1790000201000, '{"role":"user","time":{"created":1790000201000}}');
INSERT INTO part VALUES ('prt_3000late1', 'msg_3000late1', 'ses_3000late', 1790000201000, 1790000201000, '{"type":"text","text":"Late."}');

-- Of 2.0: no title, a command of the person, a compaction, one that failed, errors, a fork, the end undone.
INSERT INTO session_v2 (id, project_id, slug, directory, version, revert, time_created, time_updated) VALUES ('ses_4000new', 'p', 'e', '/home/ana/new', '2.0.26', '{"messageID":"msg_4000new9","files":[]}', 1790000300000, 1790000390000);
INSERT INTO session_message VALUES ('msg_4000new1', 'ses_4000new', 'user', 1, 1790000301000, 1790000301000, '{"time":{"created":1790000301000},"text":"Which branch is this?"}');
INSERT INTO session_message VALUES ('msg_4000new2', 'ses_4000new', 'shell', 2, 1790000302000, 1790000303000, '{"time":{"created":1790000302000,"completed":1790000303000},"shellID":"sh_1","command":"git branch","status":"exited","exit":128,"output":{"output":"fatal: not a git repository\n","cursor":29,"size":29,"truncated":false}}');
INSERT INTO session_message VALUES ('msg_4000new3', 'ses_4000new', 'assistant', 3, 1790000304000, 1790000305000, '{"time":{"created":1790000304000},"agent":"build","model":{"id":"m1","providerID":"fake"},"content":[],"error":{"type":"provider.auth","message":"The key is not valid"}}');
INSERT INTO session_message VALUES ('msg_4000new4', 'ses_4000new', 'compaction', 4, 1790000306000, 1790000307000, '{"time":{"created":1790000306000},"status":"completed","reason":"auto","summary":"There is no repository.","recent":"[User]: Which branch is this?","tokens":{"input":9,"output":4,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO session_message VALUES ('msg_4000new5', 'ses_4000new', 'compaction', 5, 1790000308000, 1790000308000, '{"time":{"created":1790000308000},"status":"failed","reason":"manual","error":{"type":"unknown","message":"no"}}');
INSERT INTO session_message VALUES ('msg_4000new6', 'ses_4000new', 'synthetic', 6, 1790000309000, 1790000309000, '{"time":{"created":1790000309000},"text":"<system-reminder>You are in Plan mode.</system-reminder>"}');
INSERT INTO session_message VALUES ('msg_4000new7', 'ses_4000new', 'skill', 7, 1790000310000, 1790000310000, '{"time":{"created":1790000310000},"skill":"s","name":"git","text":"How to use git."}');
INSERT INTO session_message VALUES ('msg_4000new8', 'ses_4000new', 'assistant', 8, 1790000311000, 1790000312000, '{"time":{"created":1790000311000,"completed":1790000312000},"agent":"plan","model":{"id":"m1","providerID":"fake"},"content":[{"type":"text","text":"None."}],"finish":"error","error":{"type":"aborted","message":"Aborted"}}');
INSERT INTO session_message VALUES ('msg_4000new9', 'ses_4000new', 'user', 9, 1790000313000, 1790000313000, '{"time":{"created":1790000313000},"text":"Never mind."}');
INSERT INTO session_v2 (id, project_id, fork_session_id, fork_boundary, slug, directory, title, version, time_created, time_updated) VALUES ('ses_5000fork', 'p', 'ses_4000new', '{"type":"before","messageID":"msg_4000new2"}', 'f', '/home/ana/new', NULL, '2.0.26', 1790000400000, 1790000401000);
INSERT INTO session_message VALUES ('msg_5000fork_1', 'ses_5000fork', 'user', 1, 1790000301000, 1790000301000, '{"time":{"created":1790000301000},"text":"Which branch is this?"}');
INSERT INTO session_message VALUES ('msg_5000fork2', 'ses_5000fork', 'model-switched', 2, 1790000401000, 1790000401000, '{"time":{"created":1790000401000},"model":{"id":"m2","providerID":"fake"}}');
