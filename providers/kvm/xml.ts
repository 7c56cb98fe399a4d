import { DOMParser, type Document } from "@xmldom/xmldom";

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Text for an XML attribute or element. Characters that XML 1.0 (section 2.2) cannot carry are refused. */
export function escapeXml(text: string): string {
  for (const character of text) {
    if (!isXmlCharacter(character.codePointAt(0)!)) {
      throw new RangeError("text holds a character that XML cannot carry");
    }
  }
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

function isXmlCharacter(code: number): boolean {
  if (code < 0x20) return code === 0x9 || code === 0xa || code === 0xd;
  return (code < 0xd800 || code > 0xdfff) && code !== 0xfffe && code !== 0xffff;
}

/** Parses what libvirt returned; a document that is not XML throws. */
export function parseXml(xml: string): Document {
  const fail = (level: string, message: string) => {
    if (level !== "warning") throw new SyntaxError(message);
  };
  return new DOMParser({ onError: fail }).parseFromString(xml, "text/xml");
}

/** The text of the first element reached by `path` from the root's children, trimmed. */
export function textAt(document: Document, ...path: string[]): string | undefined {
  let element = document.documentElement;
  for (const name of path) {
    const children: (typeof element)[] = Array.from(element?.childNodes ?? []) as (typeof element)[];
    element = children.find((child) => child?.nodeName === name) ?? null;
  }
  return element?.textContent?.trim();
}
