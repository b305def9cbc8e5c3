-- As OpenCode 1.18 keeps it. All of it is invented.
PRAGMA journal_mode = WAL;
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text, name text, time_created integer NOT NULL, time_updated integer NOT NULL, sandboxes text NOT NULL);
CREATE TABLE session (
  id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text, slug text NOT NULL, directory text NOT NULL, path text,
  title text NOT NULL, version text NOT NULL, share_url text, summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text,
  cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0 NOT NULL, revert text, permission text,
  agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer
);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
INSERT INTO project VALUES ('4b0ea68d7af9a6031a7ffda7ad66e0cb83315750', '/home/ana/shop', 'git', NULL, 1785571200000, 1785571200000, '[]');
INSERT INTO project VALUES ('global', '/', NULL, NULL, 1785571200000, 1785571200000, '[]');

-- A usual session: a file, a picture, tools that fail in each way, a sub-agent.
INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
  VALUES ('ses_04f5a0001ffe0000000000usual', '4b0ea68d7af9a6031a7ffda7ad66e0cb83315750', 'calm-fox', '/home/ana/shop', 'Cart total is off by one', '1.18.21', 1785571200000, 1785571290000);
INSERT INTO message VALUES ('msg_fb0a50001001usual01', 'ses_04f5a0001ffe0000000000usual', 1785571201000, 1785571229000,
  '{"role":"user","time":{"created":1785571201000},"agent":"build","model":{"providerID":"anthropic","modelID":"claude-sonnet-5"},"summary":{"title":"Fix cart","diffs":[]}}');
INSERT INTO part VALUES ('prt_fb0a50001001a', 'msg_fb0a50001001usual01', 'ses_04f5a0001ffe0000000000usual', 1785571201000, 1785571201000, '{"type":"text","text":"The total in @cart.go is off by one. The token is AKIAIOSFODNN7EXAMPLE."}');
INSERT INTO part VALUES ('prt_fb0a50001002b', 'msg_fb0a50001001usual01', 'ses_04f5a0001ffe0000000000usual', 1785571201000, 1785571201000, '{"type":"text","text":"Called the Read tool with the following input: {\"filePath\":\"/home/ana/shop/cart.go\"}","synthetic":true}');
INSERT INTO part VALUES ('prt_fb0a50001003c', 'msg_fb0a50001001usual01', 'ses_04f5a0001ffe0000000000usual', 1785571201000, 1785571201000, '{"type":"file","mime":"text/plain","url":"file:///home/ana/shop/cart.go?start=1&end=9","source":{"type":"file","path":"cart.go","text":{"value":"@cart.go","start":13,"end":21}}}');
INSERT INTO part VALUES ('prt_fb0a50001004d', 'msg_fb0a50001001usual01', 'ses_04f5a0001ffe0000000000usual', 1785571201000, 1785571201000, '{"type":"file","mime":"image/png","filename":"screen.png","url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA"}');
INSERT INTO message VALUES ('msg_fb0a50002001usual02', 'ses_04f5a0001ffe0000000000usual', 1785571202000, 1785571210000,
  '{"role":"assistant","parentID":"msg_fb0a50001001usual01","time":{"created":1785571202000,"completed":1785571210000},"modelID":"claude-sonnet-5","providerID":"anthropic","mode":"build","agent":"build","path":{"cwd":"/home/ana/shop","root":"/home/ana/shop"},"cost":0.01,"tokens":{"total":5230,"input":30,"output":150,"reasoning":50,"cache":{"read":4000,"write":1000}},"finish":"tool-calls"}');
INSERT INTO part VALUES ('prt_fb0a50002001a', 'msg_fb0a50002001usual02', 'ses_04f5a0001ffe0000000000usual', 1785571202000, 1785571202000, '{"type":"step-start","snapshot":"abc"}');
INSERT INTO part VALUES ('prt_fb0a50002002b', 'msg_fb0a50002001usual02', 'ses_04f5a0001ffe0000000000usual', 1785571202000, 1785571203000, '{"type":"reasoning","text":"This is not kept.","time":{"start":1785571202000,"end":1785571203000}}');
INSERT INTO part VALUES ('prt_fb0a50002003c', 'msg_fb0a50002001usual02', 'ses_04f5a0001ffe0000000000usual', 1785571203000, 1785571204000, '{"type":"text","text":"I look at the loop.","time":{"start":1785571203000,"end":1785571204000}}');
INSERT INTO part VALUES ('prt_fb0a50002004d', 'msg_fb0a50002001usual02', 'ses_04f5a0001ffe0000000000usual', 1785571204000, 1785571205000, '{"type":"tool","callID":"toolu_01","tool":"bash","state":{"status":"completed","input":{"command":"go test ./...","description":"Run the tests"},"output":"--- FAIL: TestTotal","title":"Run the tests","metadata":{"output":"--- FAIL: TestTotal","exit":1,"truncated":false},"time":{"start":1785571204000,"end":1785571205000}}}');
INSERT INTO part VALUES ('prt_fb0a50002005e', 'msg_fb0a50002001usual02', 'ses_04f5a0001ffe0000000000usual', 1785571205000, 1785571206000, '{"type":"tool","callID":"toolu_02","tool":"read","state":{"status":"error","input":{"filePath":"/home/ana/shop/none.go"},"error":"File not found: /home/ana/shop/none.go","time":{"start":1785571205000,"end":1785571206000}}}');
INSERT INTO part VALUES ('prt_fb0a50002006f', 'msg_fb0a50002001usual02', 'ses_04f5a0001ffe0000000000usual', 1785571206000, 1785571206000, '{"type":"tool","callID":"toolu_03","tool":"invalid","state":{"status":"completed","input":{"tool":"edti","error":"no such tool"},"output":"The arguments provided to the tool are invalid: no such tool","title":"Invalid Tool","metadata":{},"time":{"start":1785571206000,"end":1785571206000}}}');
INSERT INTO part VALUES ('prt_fb0a50002007g', 'msg_fb0a50002001usual02', 'ses_04f5a0001ffe0000000000usual', 1785571207000, 1785571209000, '{"type":"tool","callID":"toolu_04","tool":"task","state":{"status":"completed","input":{"description":"Find callers","prompt":"Who calls Total?","subagent_type":"explore"},"output":"Two places call it.","title":"Find callers","metadata":{"sessionId":"ses_04f59ffffffe0000000000child"},"time":{"start":1785571207000,"end":1785571209000},"attachments":[{"type":"file","mime":"image/jpeg","filename":"graph.jpg","url":"data:image/jpeg;base64,/9j/4AAQ"}]}}');
INSERT INTO part VALUES ('prt_fb0a50002008h', 'msg_fb0a50002001usual02', 'ses_04f5a0001ffe0000000000usual', 1785571210000, 1785571210000, '{"type":"step-finish","reason":"tool-calls","cost":0.01,"tokens":{"total":5230,"input":30,"output":150,"reasoning":50,"cache":{"read":4000,"write":1000}}}');
INSERT INTO part VALUES ('prt_fb0a50002009i', 'msg_fb0a50002001usual02', 'ses_04f5a0001ffe0000000000usual', 1785571210000, 1785571210000, '{"type":"patch","hash":"def","files":["/home/ana/shop/cart.go"]}');
INSERT INTO message VALUES ('msg_fb0a50003001usual03', 'ses_04f5a0001ffe0000000000usual', 1785571211000, 1785571220000,
  '{"role":"assistant","parentID":"msg_fb0a50001001usual01","time":{"created":1785571211000,"completed":1785571220000},"modelID":"claude-sonnet-5","providerID":"anthropic","mode":"build","agent":"build","path":{"cwd":"/home/ana/shop","root":"/home/ana/shop"},"cost":0.02,"tokens":{"input":20,"output":80,"reasoning":0,"cache":{"read":5000,"write":0}},"finish":"stop"}');
INSERT INTO part VALUES ('prt_fb0a50003001a', 'msg_fb0a50003001usual03', 'ses_04f5a0001ffe0000000000usual', 1785571212000, 1785571213000, '{"type":"text","text":"The loop begins at 1; it must begin at 0."}');
INSERT INTO part VALUES ('prt_fb0a50003002b', 'msg_fb0a50003001usual03', 'ses_04f5a0001ffe0000000000usual', 1785571214000, 1785571215000, '{"type":"text","text":"Fixed."}');
INSERT INTO message VALUES ('msg_fb0a50010001usual04', 'ses_04f5a0001ffe0000000000usual', 1785571280000, 1785571280000,
  '{"role":"user","time":{"created":1785571280000},"agent":"build","model":{"providerID":"openai","modelID":"gpt-6"}}');
INSERT INTO part VALUES ('prt_fb0a50010001a', 'msg_fb0a50010001usual04', 'ses_04f5a0001ffe0000000000usual', 1785571280000, 1785571280000, '{"type":"text","text":"Now run it again."}');
INSERT INTO message VALUES ('msg_fb0a50011001usual05', 'ses_04f5a0001ffe0000000000usual', 1785571281000, 1785571290000,
  '{"role":"assistant","parentID":"msg_fb0a50010001usual04","time":{"created":1785571281000},"modelID":"gpt-6","providerID":"openai","mode":"build","agent":"build","path":{"cwd":"/home/ana/shop","root":"/home/ana/shop"},"cost":0,"tokens":{"total":900,"input":100,"output":100,"reasoning":60,"cache":{"read":700,"write":0}}}');
INSERT INTO part VALUES ('prt_fb0a50011001a', 'msg_fb0a50011001usual05', 'ses_04f5a0001ffe0000000000usual', 1785571282000, 1785571290000, '{"type":"tool","callID":"call_0","tool":"bash","state":{"status":"running","input":{"command":"go test ./..."},"metadata":{"output":"ok  shop/cart"},"time":{"start":1785571282000}}}');
INSERT INTO part VALUES ('prt_fb0a50011002b', 'msg_fb0a50011001usual05', 'ses_04f5a0001ffe0000000000usual', 1785571283000, 1785571290000, '{"type":"tool","callID":"call_0","tool":"read","state":{"status":"pending","input":{},"raw":"{\"filePa"}}');

-- The sub-agent of it.
INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated)
  VALUES ('ses_04f59ffffffe0000000000child', '4b0ea68d7af9a6031a7ffda7ad66e0cb83315750', 'ses_04f5a0001ffe0000000000usual', 'shy-owl', '/home/ana/shop', 'Child session - 2026-08-01T08:00:07.000Z', '1.18.21', 1785571207000, 1785571209000);
INSERT INTO message VALUES ('msg_fb0a50007001child01', 'ses_04f59ffffffe0000000000child', 1785571207100, 1785571207100, '{"role":"user","time":{"created":1785571207100},"agent":"explore","model":{"providerID":"anthropic","modelID":"claude-haiku-5"}}');
INSERT INTO part VALUES ('prt_fb0a50007001a', 'msg_fb0a50007001child01', 'ses_04f59ffffffe0000000000child', 1785571207100, 1785571207100, '{"type":"text","text":"Who calls Total?"}');
INSERT INTO message VALUES ('msg_fb0a50008001child02', 'ses_04f59ffffffe0000000000child', 1785571208000, 1785571209000, '{"role":"assistant","parentID":"msg_fb0a50007001child01","time":{"created":1785571208000,"completed":1785571209000},"modelID":"claude-haiku-5","providerID":"anthropic","mode":"explore","agent":"explore","path":{"cwd":"/home/ana/shop","root":"/home/ana/shop"},"cost":0,"tokens":{"input":5,"output":7,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO part VALUES ('prt_fb0a50008001a', 'msg_fb0a50008001child02', 'ses_04f59ffffffe0000000000child', 1785571208000, 1785571209000, '{"type":"text","text":"Two places call it."}');

-- Outside of a repository, compacted, with a command, and with ids that began anew on 2026-08-14.
INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated, time_archived)
  VALUES ('ses_000000001ffe0000000compact', 'global', 'odd-elk', '/home/ana', 'New session - 2026-08-14T11:19:00.000Z', '1.18.21', 1786706340000, 1786706500000, 1786706600000);
INSERT INTO message VALUES ('msg_fffffff01001compact1', 'ses_000000001ffe0000000compact', 1786706341000, 1786706341000, '{"role":"user","time":{"created":1786706341000}}');
INSERT INTO part VALUES ('prt_fffffff01001a', 'msg_fffffff01001compact1', 'ses_000000001ffe0000000compact', 1786706341000, 1786706341000, '{"type":"text","text":"What is in my home directory?"}');
INSERT INTO message VALUES ('msg_fffffff02001compact2', 'ses_000000001ffe0000000compact', 1786706342000, 1786706343000, '{"role":"assistant","parentID":"msg_fffffff01001compact1","time":{"created":1786706342000,"completed":1786706343000},"modelID":"auto","providerID":"router","path":{"cwd":"/home/ana","root":"/"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO part VALUES ('prt_fffffff02001a', 'msg_fffffff02001compact2', 'ses_000000001ffe0000000compact', 1786706342000, 1786706343000, '{"type":"text","text":"Three directories."}');
INSERT INTO message VALUES ('msg_0000001000001compact3', 'ses_000000001ffe0000000compact', 1786706400000, 1786706400000, '{"role":"user","time":{"created":1786706400000}}');
INSERT INTO part VALUES ('prt_00000010001a', 'msg_0000001000001compact3', 'ses_000000001ffe0000000compact', 1786706400000, 1786706400000, '{"type":"compaction","auto":true}');
INSERT INTO message VALUES ('msg_0000001100001compact4', 'ses_000000001ffe0000000compact', 1786706401000, 1786706402000, '{"role":"assistant","parentID":"msg_0000001000001compact3","summary":true,"time":{"created":1786706401000,"completed":1786706402000},"modelID":"auto","providerID":"router","path":{"cwd":"/home/ana","root":"/"},"cost":0,"tokens":{"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO part VALUES ('prt_00000011001a', 'msg_0000001100001compact4', 'ses_000000001ffe0000000compact', 1786706401000, 1786706402000, '{"type":"text","text":"The person asked for the directories of their home. There are three."}');
INSERT INTO message VALUES ('msg_0000001200001compact5', 'ses_000000001ffe0000000compact', 1786706403000, 1786706403000, '{"role":"user","time":{"created":1786706403000}}');
INSERT INTO part VALUES ('prt_00000012001a', 'msg_0000001200001compact5', 'ses_000000001ffe0000000compact', 1786706403000, 1786706403000, '{"type":"text","text":"Continue if you have next steps.","synthetic":true}');
INSERT INTO message VALUES ('msg_0000001300001compact6', 'ses_000000001ffe0000000compact', 1786706404000, 1786706405000, '{"role":"assistant","parentID":"msg_0000001200001compact5","time":{"created":1786706404000,"completed":1786706405000},"modelID":"auto","providerID":"router","path":{"cwd":"/home/ana","root":"/"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"error":{"name":"APIError","data":{"message":"The model is overloaded","statusCode":529,"isRetryable":true}}}');
INSERT INTO message VALUES ('msg_0000002000001compact7', 'ses_000000001ffe0000000compact', 1786706500000, 1786706500000, '{"role":"user","time":{"created":1786706500000}}');
INSERT INTO part VALUES ('prt_00000020001a', 'msg_0000002000001compact7', 'ses_000000001ffe0000000compact', 1786706500000, 1786706500000, '{"type":"subtask","agent":"general","description":"Review","prompt":"Review the last commit.","command":"review"}');

-- Undone from the second prompt on, and from a part on.
INSERT INTO session (id, project_id, slug, directory, title, version, revert, time_created, time_updated)
  VALUES ('ses_04f58fffeffe0000000undone1', '4b0ea68d7af9a6031a7ffda7ad66e0cb83315750', 'red-hen', '/home/ana/shop', 'Undone', '1.18.21', '{"messageID":"msg_fb0a60003001undone3","snapshot":"abc","diff":""}', 1785571400000, 1785571500000);
INSERT INTO message VALUES ('msg_fb0a60001001undone1', 'ses_04f58fffeffe0000000undone1', 1785571401000, 1785571401000, '{"role":"user","time":{"created":1785571401000}}');
INSERT INTO part VALUES ('prt_fb0a60001001a', 'msg_fb0a60001001undone1', 'ses_04f58fffeffe0000000undone1', 1785571401000, 1785571401000, '{"type":"text","text":"Use tabs."}');
INSERT INTO message VALUES ('msg_fb0a60002001undone2', 'ses_04f58fffeffe0000000undone1', 1785571402000, 1785571402000, '{"role":"assistant","time":{"created":1785571402000},"modelID":"m","providerID":"p","tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO part VALUES ('prt_fb0a60002001a', 'msg_fb0a60002001undone2', 'ses_04f58fffeffe0000000undone1', 1785571402000, 1785571402000, '{"type":"text","text":"I use tabs."}');
INSERT INTO message VALUES ('msg_fb0a60003001undone3', 'ses_04f58fffeffe0000000undone1', 1785571403000, 1785571403000, '{"role":"user","time":{"created":1785571403000}}');
INSERT INTO part VALUES ('prt_fb0a60003001a', 'msg_fb0a60003001undone3', 'ses_04f58fffeffe0000000undone1', 1785571403000, 1785571403000, '{"type":"text","text":"No, spaces."}');
INSERT INTO message VALUES ('msg_fb0a60004001undone4', 'ses_04f58fffeffe0000000undone1', 1785571404000, 1785571404000, '{"role":"assistant","time":{"created":1785571404000},"modelID":"m","providerID":"p","tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO part VALUES ('prt_fb0a60004001a', 'msg_fb0a60004001undone4', 'ses_04f58fffeffe0000000undone1', 1785571404000, 1785571404000, '{"type":"text","text":"I use spaces."}');
INSERT INTO session (id, project_id, slug, directory, title, version, revert, time_created, time_updated)
  VALUES ('ses_04f58fffdffe0000000undone2', '4b0ea68d7af9a6031a7ffda7ad66e0cb83315750', 'big-cat', '/home/ana/shop', 'Undone from a part on (fork #1)', '1.18.21', '{"messageID":"msg_fb0a70002001undone2","partID":"prt_fb0a70002002b"}', 1785571600000, 1785571700000);
INSERT INTO message VALUES ('msg_fb0a70001001undone1', 'ses_04f58fffdffe0000000undone2', 1785571601000, 1785571601000, '{"role":"user","time":{"created":1785571601000}}');
INSERT INTO part VALUES ('prt_fb0a70001001a', 'msg_fb0a70001001undone1', 'ses_04f58fffdffe0000000undone2', 1785571601000, 1785571601000, '{"type":"text","text":"Use tabs."}');
INSERT INTO message VALUES ('msg_fb0a70002001undone2', 'ses_04f58fffdffe0000000undone2', 1785571602000, 1785571602000, '{"role":"assistant","time":{"created":1785571602000},"modelID":"m","providerID":"p","tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO part VALUES ('prt_fb0a70002001a', 'msg_fb0a70002001undone2', 'ses_04f58fffdffe0000000undone2', 1785571602000, 1785571602000, '{"type":"text","text":"I use tabs."}');
INSERT INTO part VALUES ('prt_fb0a70002002b', 'msg_fb0a70002001undone2', 'ses_04f58fffdffe0000000undone2', 1785571602500, 1785571602500, '{"type":"tool","callID":"call_1","tool":"edit","state":{"status":"completed","input":{"filePath":"a.go"},"output":"","title":"a.go","metadata":{},"time":{"start":1785571602500,"end":1785571602600}}}');
INSERT INTO message VALUES ('msg_fb0a70003001undone3', 'ses_04f58fffdffe0000000undone2', 1785571603000, 1785571603000, '{"role":"assistant","time":{"created":1785571603000},"modelID":"m","providerID":"p","tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO part VALUES ('prt_fb0a70003001a', 'msg_fb0a70003001undone3', 'ses_04f58fffdffe0000000undone2', 1785571603000, 1785571603000, '{"type":"text","text":"All of it has tabs."}');

-- From a tree of files: no directory; a record that is broken; a part without a message; a session without any.
INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
  VALUES ('ses_04f50fffcffe0000000broken1', 'global', '', '', '', '', 1785571800000, 1785571900000);
INSERT INTO message VALUES ('msg_fb0a80001001broken1', 'ses_04f50fffcffe0000000broken1', 1785571801000, 1785571801000, '{"role":"user","time":{"created":1785571801000},"summary":{"title":"Sort the list","diffs":[]}}');
INSERT INTO message VALUES ('msg_fb0a80002001broken2', 'ses_04f50fffcffe0000000broken1', 1785571802000, 1785571802000, '{"role":"assistant","time":{"created":1785571802000},"modelID":"m","providerID":"p","path":{"cwd":"/srv/lists","root":"/"},"tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO part VALUES ('prt_fb0a80002001a', 'msg_fb0a80002001broken2', 'ses_04f50fffcffe0000000broken1', 1785571802000, 1785571802000, '{"type":"text","text":"It is so');
INSERT INTO part VALUES ('prt_fb0a80002002b', 'msg_fb0a80002001broken2', 'ses_04f50fffcffe0000000broken1', 1785571802000, 1785571802000, '{"type":"text","text":"Sorted."}');
INSERT INTO part VALUES ('prt_fb0a80009001a', 'msg_fb0a80009001gone', 'ses_04f50fffcffe0000000broken1', 1785571803000, 1785571803000, '{"type":"text","text":"Nobody says this."}');
INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
  VALUES ('ses_04f50fffbffe00000000empty1', 'global', '', '/home/ana', 'Empty', '1.18.21', 1785571900000, 1785571900000);
