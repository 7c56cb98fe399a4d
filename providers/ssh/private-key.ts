import { type ParsedKey, utils } from "ssh2";

/** What a key file holds. */
export type KeyFile =
  | { kind: "private"; key: ParsedKey }
  /** A public key: the agent is to sign with the private one. */
  | { kind: "public"; publicKey: Buffer }
  /** A private key that needs a passphrase, or another one; its public half where the format shows it. */
  | { kind: "encrypted"; publicKey: Buffer | undefined; passphraseWrong: boolean }
  | { kind: "invalid"; problem: string };

/** Reads a key in the formats of OpenSSH, PEM (PKCS#1, SEC1) and PuTTY. */
export function readKeyFile(content: Buffer, passphrase: string | undefined): KeyFile {
  const parsed = firstOf(utils.parseKey(content, passphrase));
  if (parsed !== undefined && !(parsed instanceof Error)) {
    return parsed.isPrivateKey()
      ? { kind: "private", key: parsed }
      : { kind: "public", publicKey: parsed.getPublicSSH() };
  }
  const envelope = opensshEnvelope(content);
  if (envelope === undefined ? isEncryptedPem(content) : envelope.encrypted) {
    return { kind: "encrypted", publicKey: envelope?.publicKey, passphraseWrong: passphrase !== undefined };
  }
  return { kind: "invalid", problem: parsed?.message ?? "it holds no key" };
}

/** The parser answers with a list for OpenSSH's format, though its types do not say so. */
function firstOf(parsed: ParsedKey | Error | (ParsedKey | Error)[]): ParsedKey | Error | undefined {
  return Array.isArray(parsed) ? parsed[0] : parsed;
}

/** The clear part of OpenSSH's private key format (PROTOCOL.key in OpenSSH's sources). */
function opensshEnvelope(content: Buffer): { encrypted: boolean; publicKey: Buffer | undefined } | undefined {
  const armour = /-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END/.exec(
    content.toString("latin1"),
  );
  if (armour?.[1] === undefined) return undefined;
  const bytes = Buffer.from(armour[1], "base64");
  const magic = "openssh-key-v1\0";
  if (bytes.toString("latin1", 0, magic.length) !== magic) return undefined;
  const cipher = stringAt(bytes, magic.length);
  const kdf = cipher && stringAt(bytes, cipher.end);
  const kdfOptions = kdf && stringAt(bytes, kdf.end);
  const publicKey = kdfOptions && stringAt(bytes, kdfOptions.end + 4); // past the number of keys, always 1
  if (cipher === undefined) return undefined;
  return { encrypted: cipher.value.toString("latin1") !== "none", publicKey: publicKey?.value };
}

function stringAt(bytes: Buffer, offset: number): { value: Buffer; end: number } | undefined {
  if (offset + 4 > bytes.length) return undefined;
  const end = offset + 4 + bytes.readUInt32BE(offset);
  return end > bytes.length ? undefined : { value: bytes.subarray(offset + 4, end), end };
}

function isEncryptedPem(content: Buffer): boolean {
  const text = content.toString("latin1");
  return /^Proc-Type: 4,ENCRYPTED|^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Encryption: (?!none)/m.test(text);
}
