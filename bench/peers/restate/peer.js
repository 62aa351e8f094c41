// One round of Restate: a server of its own on loopback, with its files in a folder, and in this process the
// service that it calls and the clients of its ingress. A step is a `ctx.run`.
//
//   peer.js <p5|s5> <in flight> <seconds> <folder>
import * as restate from "@restatedev/restate-sdk";
import * as clients from "@restatedev/restate-sdk-clients";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import http2 from "node:http2";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";

const ACTIVITIES = 5;
const RUN_UP_MS = 1500;

let steps = 0;
const chargeCard = (order) => () => {
  ++steps;
  return order;
};

const orders = restate.service({
  name: "orders",
  handlers: {
    p5: async (ctx, order) => {
      const parts = [];
      for (let i = 0; i < ACTIVITIES; ++i) parts.push(ctx.run("charge_card", chargeCard(order)));
      const receipts = await restate.RestatePromise.all(parts);
      return receipts.at(-1);
    },
    s5: async (ctx, order) => {
      let receipt = "";
      for (let i = 0; i < ACTIVITIES; ++i) receipt = await ctx.run("charge_card", chargeCard(order));
      return receipt;
    },
  },
});

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function serve() {
  const handler = restate.createEndpointHandler({ services: [orders], logger: () => {} });
  const server = http2.createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server.address().port;
}

// The platform's program itself: the package's own starter would stand between it and our signals.
const require = createRequire(import.meta.url);
const binary = require.resolve(
  `@restatedev/restate-server-${os.platform()}-${os.arch()}/bin/restate-server`,
  { paths: [require.resolve("@restatedev/restate-server/package.json")] },
);

async function startServer(folder) {
  const [fabric, ingress, admin] = [await freePort(), await freePort(), await freePort()];
  const environment = {
    PATH: process.env.PATH,
    RESTATE_BASE_DIR: folder,
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_ADDRESS: `127.0.0.1:${fabric}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LOG_FILTER: "error,octocrab=off",
  };
  // It goes when we are killed.
  const server = spawn("setpriv", ["--pdeathsig", "KILL", binary, "--no-logo"], {
    env: environment,
    stdio: ["ignore", 2, 2],
  });
  server.on("exit", (code) => fail(new Error(`the server ended with ${code}`)));
  return { admin: `http://127.0.0.1:${admin}`, ingress: `http://127.0.0.1:${ingress}` };
}

async function eventually(what, attempt) {
  for (let i = 0; i < 300; ++i) {
    const response = await attempt().catch(() => undefined);
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what} does not answer`);
}

const until = (moment) =>
  new Promise((resolve) => setTimeout(resolve, moment - performance.now()));

// How many steps ran while the clock did.
async function countSteps(begin, end) {
  await until(begin);
  const before = steps;
  await until(end);
  return steps - before;
}

async function beClient(orders, shape, ids, begin, end, latencies) {
  for (;;) {
    const order = `order-20300101-${ids.next++}`;
    const started = performance.now();
    const receipt = await orders[shape](order, clients.rpc.opts({ idempotencyKey: order }));
    const now = performance.now();
    if (receipt !== order) throw new Error(`instance ${order} gave '${receipt}'`);
    if (now >= begin) latencies.push(now - started);
    if (now >= end) return;
  }
}

const quantile = (sorted, part) => sorted[Math.floor(part * (sorted.length - 1))] ?? 0;

function fail(error) {
  console.error(`peer.js: ${error.message}`);
  process.exit(1);
}

async function main() {
  const [shape, inFlight, seconds, folder] = process.argv.slice(2);
  const port = await serve();
  const { admin, ingress } = await startServer(folder);
  await eventually("the server", () => fetch(`${admin}/health`));
  await eventually("the service", () =>
    fetch(`${admin}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }),
    }),
  );
  const client = clients.connect({ url: ingress }).serviceClient({ name: "orders" });
  await eventually("the ingress", async () => ({ ok: await client[shape]("first") }));

  const latencies = [];
  const ids = { next: 0 };
  const begin = performance.now() + RUN_UP_MS;
  const end = begin + 1000 * Number(seconds);
  const [done] = await Promise.all([
    countSteps(begin, end),
    ...Array.from({ length: Number(inFlight) }, () =>
      beClient(client, shape, ids, begin, end, latencies),
    ),
  ]);
  latencies.sort((a, b) => a - b);
  const version = execFileSync(binary, ["--version"], { encoding: "utf8" }).trim();
  const sdk = require("@restatedev/restate-sdk/package.json").version;
  const round = {
    versions: `${version}, @restatedev/restate-sdk ${sdk}, node ${process.versions.node}`,
    settings: "a server of one node beside the process of the service, its defaults: the log waits for the disk",
    steps: done,
    seconds: Number(seconds),
    p50_ms: quantile(latencies, 0.5),
    p99_ms: quantile(latencies, 0.99),
  };
  process.stdout.write(JSON.stringify(round) + "\n", () => process.exit(0));
}

main().catch(fail);
