import assert from "node:assert/strict";
import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { openImage } from "@egress-proxies/providers/images/open";
import { LyingServer, rawDisk, sha256, withDirectory } from "./lying-server";

const IMAGE = rawDisk(64 * 1024);

/** An HTTPS server with a certificate of its own that redirects everything to `target`. */
async function withRedirect(
  target: string,
  work: (origin: string, certificate: string, dir: string) => Promise<void>,
): Promise<void> {
  await withDirectory(async (dir) => {
    const [key, cert] = [join(dir, "key.pem"), join(dir, "cert.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"];
    execFileSync(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        key,
        "-out",
        cert,
        ...subject,
      ],
      { stdio: "pipe" },
    );
    const server = createServer(
      { key: await readFile(key), cert: await readFile(cert) },
      (_request, response) => {
        response.writeHead(302, { location: target }).end();
      },
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      await work(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, cert, dir);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
}

describe("download over TLS", () => {
  it("refuses a certificate that nobody vouches for, at once", () =>
    withRedirect("/", (origin, _cert, dir) =>
      assert.rejects(
        openImage({ key: "k", url: `${origin}/disk.raw`, sha256: sha256(IMAGE) }, { cacheDir: dir }),
        { reason: "CertificateRefused" },
      ),
    ));

  it("never follows a redirect away from https", async () => {
    const plain = await LyingServer.start((_request, response) => response.end(IMAGE));
    try {
      await withRedirect(`${plain.origin}/disk.raw`, async (origin, cert, dir) => {
        const ref = { key: "k", url: `${origin}/disk.raw`, sha256: sha256(IMAGE) };
        // Node reads the additional authorities once, when a process starts.
        const child = fork(
          join(__dirname, "open-child.js"),
          [JSON.stringify({ refs: [ref], options: { cacheDir: dir } })],
          { env: { ...process.env, NODE_EXTRA_CA_CERTS: cert }, silent: true },
        );
        let complaint = "";
        child.stderr?.on("data", (chunk) => {
          complaint += chunk;
        });
        const [status] = await once(child, "close");
        assert.equal(status, 1);
        assert.match(complaint, /reason: 'InsecureRedirect'/);
        assert.equal(plain.seen.length, 0);
      });
    } finally {
      await plain.stop();
    }
  });
});
