// The official MCP conformance suite against the bridge (with a server that has
// everything behind it) and against the client that speaks to upstreams. Run by
// "make conformance"; see docs/mcp.md for what the results mean.
//
//   node conformance.mjs server AMBRY EVERYTHING SUITE   the bridge
//   node conformance.mjs client AMBRY SUITE              the client to upstreams
//   node conformance.mjs drive AMBRY URL                 one scenario of the latter
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const [mode, ambry, ...rest] = process.argv.slice(2);
const wait = ms => new Promise(done => setTimeout(done, ms));

// service starts Ambry in a home of its own, with one upstream whose names stay
// as they are, and returns where its bridge is.
async function service(upstream) {
  const dir = mkdtempSync(join(tmpdir(), 'ambry-conformance-'));
  const home = join(dir, '.ambry');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, 'config.yaml'), JSON.stringify({ mcp: { upstreams: [{ passThrough: true, ...upstream }] } }), { mode: 0o600 });
  const child = spawn(ambry, ['serve', '--home', home], { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, HOME: dir } });
  const file = join(home, 'runtime.json');
  for (let i = 0; !existsSync(file); i++) {
    if (i > 300) throw new Error('the service does not start');
    await wait(50);
  }
  const rt = JSON.parse(readFileSync(file, 'utf8'));
  const stop = () => new Promise(done => {
    child.on('exit', () => { rmSync(dir, { recursive: true, force: true }); done(); });
    child.kill('SIGTERM');
  });
  const status = async () => (await (await fetch(rt.baseUrl + '/api/v1/integrations/capabilities', { headers: { 'x-app-local-token': rt.localToken } })).json()).mcpUpstreams[0];
  return { rt, stop, status };
}

async function ready(s, tries = 200) {
  for (let i = 0; i < tries; i++) {
    const status = await s.status();
    if (status?.status === 'ok') return status;
    await wait(50);
  }
  throw new Error('the upstream is not ready: ' + JSON.stringify(await s.status()));
}

// front adds the token, which the suite cannot. A forged Host stays forged.
function front(rt) {
  const to = new URL(rt.baseUrl);
  const server = http.createServer((req, res) => {
    const own = req.headers.host === `localhost:${server.address().port}` || req.headers.host === `127.0.0.1:${server.address().port}`;
    const headers = { ...req.headers, 'x-app-mcp-token': rt.mcpToken };
    if (own) {
      headers.host = to.host;
      // The suite's honest page comes from the address that it calls.
      if (headers.origin) headers.origin = headers.origin.replace(/:\d+$/, ':' + to.port).replace('localhost', '127.0.0.1');
    }
    const out = http.request({ host: to.hostname, port: to.port, path: '/mcp/bridge', method: req.method, headers }, answer => {
      res.writeHead(answer.statusCode, answer.headers);
      res.flushHeaders();
      answer.pipe(res);
    });
    out.on('error', () => res.destroy());
    res.on('close', () => out.destroy());
    req.pipe(out);
  });
  return new Promise(done => server.listen(0, '127.0.0.1', () => done(server)));
}

function suite(args) {
  return new Promise(done => {
    const child = spawn(process.execPath, [resolve(process.env.CONFORMANCE, 'dist/index.js'), ...args], { stdio: 'inherit' });
    child.on('exit', code => done(code ?? 1));
  });
}

async function server() {
  const [everything, ...more] = rest;
  const s = await service({ id: 'everything', command: everything });
  const f = await front(s.rt);
  let code = 1;
  try {
    await ready(s);
    code = await suite(['server', '--url', `http://localhost:${f.address().port}/mcp`, ...more]);
  } finally {
    f.closeAllConnections();
    f.close();
    await s.stop();
  }
  return code;
}

// drive is the client under test: Ambry connects to the suite's server as its
// upstream, and an agent behind the bridge calls what that offers.
async function drive() {
  const [url] = rest;
  const s = await service({ id: 'suite', url, timeout: '20s' });
  try {
    const { tools } = await ready(s);
    const call = agent(s.rt);
    await call('initialize', { protocolVersion: '2025-11-25', capabilities: { elicitation: { form: {} } }, clientInfo: { name: 'agent', version: '1' } });
    await call('notifications/initialized');
    for (const tool of tools) {
      const args = tool === 'add_numbers' ? { a: 5, b: 3 } : {};
      console.log(tool, JSON.stringify(await call('tools/call', { name: tool, arguments: args })));
    }
  } finally {
    await s.stop();
  }
  return 0;
}

// agent speaks to the bridge, and answers what it is asked on the way: it
// accepts every form as it stands.
function agent(rt) {
  let session, id = 0;
  const post = body => fetch(rt.baseUrl + '/mcp/bridge', {
    method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    headers: {
      'content-type': 'application/json', accept: 'application/json, text/event-stream', 'x-app-mcp-token': rt.mcpToken,
      ...(session ? { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' } : {}),
    },
  });
  return async (method, params) => {
    const request = { method, params, ...(method.startsWith('notifications/') ? {} : { id: ++id }) };
    const res = await post(request);
    session ??= res.headers.get('mcp-session-id');
    if (!request.id) return;
    let text = '';
    for await (const chunk of res.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const events = text.split('\n\n');
      text = events.pop();
      for (const event of events) {
        const data = event.split('\n').find(line => line.startsWith('data:'))?.slice(5).trim();
        if (!data) continue;
        const m = JSON.parse(data);
        if (m.id === request.id && !m.method) return m.result ?? m.error;
        if (m.method === 'elicitation/create') await post({ id: m.id, result: { action: 'accept', content: {} } });
      }
    }
    return text ? JSON.parse(text).result : undefined;
  };
}

async function client() {
  const self = [process.execPath, process.argv[1], 'drive', ambry].join(' ');
  return suite(['client', '--command', self, ...rest]);
}

process.exit(await { server, client, drive }[mode]());
