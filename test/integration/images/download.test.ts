import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { DEFAULT_HTTP_LIMITS } from "@egress-proxies/providers/images/http";
import { type OpenImageOptions, openImage } from "@egress-proxies/providers/images/open";
import { processToken } from "@egress-proxies/providers/images/process-token";
import { PermanentError, TransientError } from "@egress-proxies/providers/machine/errors";
import { type Handler, LyingServer, rawDisk, sha256, sha512, withDirectory } from "./lying-server";

const IMAGE = rawDisk(3 * 1024 * 1024);
const OTHER = rawDisk(3 * 1024 * 1024, 2);
const CUT = 1024 * 1024 + 77;

const quick: OpenImageOptions["transfer"] = {
  attempts: 4,
  delayMs: 1,
  limits: { ...DEFAULT_HTTP_LIMITS, headersMs: 1500, idleMs: 1500 },
};

function rangeStart(request: IncomingMessage): number | undefined {
  const start = /^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1];
  return start === undefined ? undefined : Number(start);
}

/** An honest answer, ranges and If-Range included. */
function serve(request: IncomingMessage, response: ServerResponse, body = IMAGE, etag = '"one"'): void {
  const start = rangeStart(request);
  const condition = request.headers["if-range"];
  if (start === undefined || (condition !== undefined && condition !== etag)) {
    response.writeHead(200, { "content-length": body.length, etag }).end(body);
  } else {
    const rest = body.subarray(start);
    const range = `bytes ${start}-${body.length - 1}/${body.length}`;
    response.writeHead(206, { "content-length": rest.length, "content-range": range, etag }).end(rest);
  }
}

/** Announces all, sends the start, and hangs up. */
function cut(
  response: ServerResponse,
  body = IMAGE,
  headers: Record<string, string> = { etag: '"one"' },
): void {
  response.writeHead(200, { "content-length": body.length, ...headers });
  response.write(body.subarray(0, CUT), () => setTimeout(() => response.destroy(), 20));
}

interface Case {
  name: string;
  handler: Handler;
  /** The reason of the error; absent where the image must come through. */
  reason?: string;
  kind?: typeof PermanentError | typeof TransientError;
  requests?: number;
}

const cases: Case[] = [
  { name: "an honest server", handler: (q, r) => serve(q, r), requests: 1 },
  {
    name: "a cut, then an honest resume",
    handler: (q, r, nth) => (nth === 1 ? cut(r) : serve(q, r)),
    requests: 2,
  },
  {
    name: "a cut, then 200 instead of 206",
    handler: (_q, r, nth) =>
      nth === 1 ? cut(r) : r.writeHead(200, { "content-length": IMAGE.length }).end(IMAGE),
    requests: 2,
  },
  {
    name: "a cut, then 206 for another range",
    handler: (q, r, nth) => {
      if (nth === 1) return cut(r);
      if (nth > 2) return serve(q, r);
      const range = `bytes 5-${IMAGE.length - 1}/${IMAGE.length}`;
      r.writeHead(206, { "content-range": range }).end(IMAGE.subarray(5));
    },
  },
  {
    name: "a cut, then 206 without Content-Range",
    handler: (q, r, nth) =>
      nth === 1 ? cut(r) : nth === 2 ? r.writeHead(206).end(IMAGE.subarray(CUT)) : serve(q, r),
  },
  {
    name: "a cut, then 206 of a changed file, by its ETag",
    handler: (q, r, nth) => {
      if (nth === 1) return cut(r, OTHER, { etag: '"old"' });
      if (nth > 2) return serve(q, r, IMAGE, '"new"');
      const range = `bytes ${CUT}-${IMAGE.length - 1}/${IMAGE.length}`;
      r.writeHead(206, { "content-range": range, etag: '"new"' }).end(IMAGE.subarray(CUT));
    },
  },
  {
    name: "a cut, then 206 of a changed file that nothing gives away",
    handler: (q, r, nth) => {
      if (nth === 1) return cut(r, OTHER, {});
      if (nth > 2) return serve(q, r);
      const range = `bytes ${CUT}-${IMAGE.length - 1}/${IMAGE.length}`;
      r.writeHead(206, { "content-range": range }).end(IMAGE.subarray(CUT));
    },
    requests: 3,
  },
  {
    name: "a cut, then 416",
    handler: (q, r, nth) => (nth === 1 ? cut(r) : nth === 2 ? r.writeHead(416).end() : serve(q, r)),
    requests: 3,
  },
  {
    name: "a server that always cuts at the same byte and knows no ranges",
    handler: (_q, r) => cut(r),
    reason: "DownloadInterrupted",
    kind: TransientError,
  },
  {
    name: "a server that cuts every time and resumes",
    handler: (q, r) => {
      const start = rangeStart(q) ?? 0;
      const range = `bytes ${start}-${IMAGE.length - 1}/${IMAGE.length}`;
      r.writeHead(start === 0 ? 200 : 206, {
        "content-length": IMAGE.length - start,
        "content-range": range,
      });
      const piece = IMAGE.subarray(start, start + 300_000);
      if (start + piece.length === IMAGE.length) r.end(piece);
      else r.write(piece, () => setTimeout(() => r.destroy(), 20));
    },
  },
  {
    name: "no Content-Length, whole",
    handler: (_q, r) => {
      r.useChunkedEncodingByDefault = false;
      r.writeHead(200, { connection: "close" }).end(IMAGE);
    },
  },
  {
    name: "no Content-Length, ended early once",
    handler: (q, r, nth) => {
      if (nth > 1) return serve(q, r);
      r.useChunkedEncodingByDefault = false;
      r.writeHead(200, { connection: "close" }).end(IMAGE.subarray(0, CUT));
    },
  },
  {
    name: "no Content-Length, ended early always",
    handler: (_q, r) => {
      r.useChunkedEncodingByDefault = false;
      r.writeHead(200, { connection: "close" }).end(IMAGE.subarray(0, CUT));
    },
    reason: "DownloadRestarted",
    kind: TransientError,
  },
  {
    name: "a Content-Length that is too large",
    handler: (_q, r) => {
      r.writeHead(200, { "content-length": IMAGE.length + 100 });
      r.write(IMAGE, () => setTimeout(() => r.destroy(), 50));
    },
    requests: 1,
  },
  {
    name: "a Content-Length that is too small",
    handler: (_q, r) => {
      r.strictContentLength = false;
      r.writeHead(200, { "content-length": CUT }).end(IMAGE);
    },
    reason: "ChecksumMismatch",
    kind: PermanentError,
  },
  {
    name: "a chunked body that ends without its last chunk",
    handler: (q, r, nth) => {
      if (nth > 1) return serve(q, r);
      r.writeHead(200);
      r.write(IMAGE.subarray(0, CUT), () => setTimeout(() => r.destroy(), 20));
    },
  },
  {
    name: "another file",
    handler: (q, r) => serve(q, r, OTHER),
    reason: "ChecksumMismatch",
    kind: PermanentError,
    requests: 1,
  },
  {
    name: "an HTML login page with status 200",
    handler: (_q, r) => {
      r.writeHead(200, { "content-type": "text/html" }).end("<!DOCTYPE html><title>Sign in</title>");
    },
    reason: "NotAnImage",
    kind: PermanentError,
    requests: 1,
  },
  {
    name: "404",
    handler: (_q, r) => r.writeHead(404).end(),
    reason: "ImageUnavailable",
    kind: PermanentError,
    requests: 1,
  },
  {
    name: "503 twice",
    handler: (q, r, nth) => (nth < 3 ? r.writeHead(503).end() : serve(q, r)),
    requests: 3,
  },
  {
    name: "503 for ever",
    handler: (_q, r) => r.writeHead(503).end(),
    reason: "ImageUnavailable",
    kind: TransientError,
    requests: 4,
  },
  {
    name: "a connection reset before the answer",
    handler: (q, r, nth) => (nth === 1 ? r.destroy() : serve(q, r)),
  },
  {
    name: "a redirect to a relative place",
    handler: (q, r) =>
      q.url === "/disk.raw" ? r.writeHead(302, { location: "../there" }).end() : serve(q, r),
  },
  {
    name: "a redirect to itself",
    handler: (_q, r) => r.writeHead(302, { location: "/disk.raw" }).end(),
    reason: "TooManyRedirects",
    kind: PermanentError,
  },
  {
    name: "a redirect without a place",
    handler: (_q, r) => r.writeHead(302).end(),
    reason: "BadRedirect",
    kind: PermanentError,
  },
  {
    name: "a redirect to a local file",
    handler: (_q, r) => r.writeHead(302, { location: "file:///etc/passwd" }).end(),
    reason: "InsecureRedirect",
    kind: PermanentError,
  },
  {
    name: "a server that never answers",
    handler: () => undefined,
    reason: "DownloadInterrupted",
    kind: TransientError,
  },
  {
    name: "a body that stands still once",
    handler: (q, r, nth) => {
      if (nth > 1) return serve(q, r);
      r.writeHead(200, { "content-length": IMAGE.length, etag: '"one"' });
      r.write(IMAGE.subarray(0, CUT));
    },
    requests: 2,
  },
  {
    name: "an endless body",
    handler: (_q, r) => {
      r.writeHead(200);
      const more = () => {
        while (r.write(IMAGE));
        r.once("drain", more);
      };
      more();
    },
    reason: "DownloadTooLarge",
    kind: PermanentError,
    requests: 1,
  },
];

async function against<T>(handler: Handler, work: (server: LyingServer) => Promise<T>): Promise<T> {
  const server = await LyingServer.start(handler);
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

describe("download", () => {
  for (const { name, handler, reason, kind, requests } of cases) {
    it(`${reason === undefined ? "brings the image through" : "fails clearly"}: ${name}`, () =>
      against(handler, (server) =>
        withDirectory(async (cacheDir) => {
          const ref = { key: "disk", url: `${server.origin}/disk.raw`, sha256: sha256(IMAGE) };
          const opening = openImage(ref, { cacheDir, maxCacheBytes: 20 * 1024 * 1024, transfer: quick });
          if (reason === undefined) {
            const image = await opening;
            assert.equal(image.sha256, sha256(IMAGE));
            assert.deepEqual(await readFile(image.path), IMAGE);
          } else {
            await assert.rejects(opening, (error: PermanentError | TransientError) => {
              assert.equal(error.reason, reason, error.message);
              assert.ok(error instanceof (kind ?? Error));
              assert.match(error.where ?? "", /^http:\/\/127/);
              return true;
            });
          }
          if (requests !== undefined) assert.equal(server.seen.length, requests);
        }),
      )).timeout(20_000);
  }

  it("resumes with the strong validator that the server gave", () =>
    against(
      (q, r, nth) => (nth === 1 ? cut(r) : serve(q, r)),
      (server) =>
        withDirectory(async (cacheDir) => {
          await openImage(
            { key: "k", url: `${server.origin}/disk.raw`, sha256: sha256(IMAGE) },
            { cacheDir, transfer: quick },
          );
          const [, second] = server.seen;
          assert.match(second?.range ?? "", /^bytes=[1-9]\d*-$/);
          assert.equal(second?.ifRange, '"one"');
        }),
    ));

  it("takes the digest from a checksum file beside the image, by SHA-512", () =>
    against(
      (q, r) => (q.url === "/SHA512SUMS" ? r.end(`${sha512(IMAGE)}  disk.raw\n`) : serve(q, r)),
      (server) =>
        withDirectory(async (cacheDir) => {
          const ref = { key: "k", url: `${server.origin}/disk.raw`, sha256: `${server.origin}/SHA512SUMS` };
          assert.equal((await openImage(ref, { cacheDir, transfer: quick })).sha256, sha256(IMAGE));
        }),
    ));

  it("sends user name and password to their own origin only, and shows them nowhere", () =>
    against(
      (q, r) => serve(q, r, OTHER),
      (stranger) =>
        against(
          (_q, r) => r.writeHead(302, { location: `${stranger.origin}/disk.raw` }).end(),
          (server) =>
            withDirectory(async (cacheDir) => {
              const url = `${server.origin.replace("//", "//joe:secret@")}/disk.raw`;
              await assert.rejects(
                openImage({ key: "k", url, sha256: sha256(IMAGE) }, { cacheDir, transfer: quick }),
                (error: Error) => !error.message.includes("secret"),
              );
              assert.equal(
                server.seen[0]?.authorization,
                `Basic ${Buffer.from("joe:secret").toString("base64")}`,
              );
              assert.equal(stranger.seen[0]?.authorization, undefined);
            }),
        ),
    ));

  it("goes through the proxy that the environment names, and around it for NO_PROXY", () =>
    against(
      (q, r) => serve(q, r),
      (server) =>
        against(
          (_q, r) => r.writeHead(500).end(),
          async (proxy) => {
            const connects: string[] = [];
            proxy.joinTunnelsTo(server, connects);
            const before = { ...process.env };
            try {
              process.env.http_proxy = proxy.origin;
              process.env.no_proxy = "127.0.0.1";
              for (const host of ["images.invalid", "127.0.0.1"]) {
                const url = `http://${host}:${new URL(server.origin).port}/disk.raw`;
                await withDirectory((cacheDir) =>
                  openImage({ key: "k", url, sha256: sha256(IMAGE) }, { cacheDir, transfer: quick }),
                );
              }
            } finally {
              process.env = before;
            }
            assert.equal(server.seen.length, 2);
            assert.deepEqual(
              connects.map((target) => target.split(":")[0]),
              ["images.invalid"],
            );
          },
        ),
    ));

  it("resumes what a killed process had fetched, once that process is gone", () =>
    against(
      (q, r) => serve(q, r),
      (server) =>
        withDirectory(async (cacheDir) => {
          const ref = { key: "k", url: `${server.origin}/disk.raw`, sha256: sha256(IMAGE) };
          const dead = `${processToken().split("-")[0]}-fffffff-1`;
          await mkdir(join(cacheDir, "partial"), { recursive: true });
          await writeFile(join(cacheDir, "partial", `${sha256(IMAGE)}.${dead}.part`), IMAGE.subarray(0, CUT));
          assert.equal((await openImage(ref, { cacheDir, transfer: quick })).sha256, sha256(IMAGE));
          assert.deepEqual(
            server.seen.map(({ range }) => range),
            [`bytes=${CUT}-`],
          );
        }),
    ));

  it("checks the digest of the packed bytes, and takes the image as it is unpacked", () => {
    const packed = gzipSync(IMAGE);
    return against(
      (q, r) => serve(q, r, packed),
      (server) =>
        withDirectory(async (cacheDir) => {
          const ref = { key: "k", url: `${server.origin}/disk.raw.gz`, sha256: sha256(packed) };
          const image = await openImage(ref, { cacheDir, transfer: quick });
          assert.deepEqual(await readFile(image.path), IMAGE);
          assert.equal(image.source.sha256, sha256(packed));
        }),
    );
  });
});
