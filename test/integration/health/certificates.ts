import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface KeyPair {
  key: string;
  cert: string;
}

export interface Certificates {
  /** The certificate of an authority that exists for this test run alone. */
  ca: string;
  /** Another authority's, which signed nothing. */
  otherCa: string;
  /** Good for target.test. */
  good: KeyPair;
  /** Of the same authority, for another name. */
  otherName: KeyPair;
}

const ELLIPTIC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** Made by openssl in a directory that is gone again when this returns. */
export function makeCertificates(): Certificates {
  const dir = mkdtempSync(join(tmpdir(), "health-ca-"));
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: dir, stdio: "pipe" });
  const read = (file: string) => readFileSync(join(dir, file), "utf8");
  try {
    const authority = (name: string): string => {
      const files = ["-keyout", `${name}.key`, "-out", `${name}.pem`];
      openssl("req", "-x509", ...ELLIPTIC, "-days", "2", "-subj", `/CN=${name}`, ...files);
      return read(`${name}.pem`);
    };
    const ca = authority("ca");
    const leaf = (name: string): KeyPair => {
      writeFileSync(join(dir, "san"), `subjectAltName=DNS:${name}\n`);
      openssl("req", ...ELLIPTIC, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`);
      openssl(
        ...["x509", "-req", "-days", "2", "-in", `${name}.csr`, "-out", `${name}.pem`],
        ...["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "san"],
      );
      return { key: read(`${name}.key`), cert: read(`${name}.pem`) };
    };
    return { good: leaf("target.test"), otherName: leaf("other.test"), ca, otherCa: authority("other-ca") };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
