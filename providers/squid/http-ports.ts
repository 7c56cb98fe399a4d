/**
 * The ports that a user-data text makes squid listen on: every `http_port` line that is no comment, wherever it
 * stands (a block of YAML, a quoted string with `\n`, a shell script), in order, each once. Text that is encoded
 * or compressed is not looked into.
 */
export function httpPortsOf(userData: string): number[] {
  const text = userData.replace(/\\[nrt]/g, "\n");
  const matches = text.matchAll(
    /^[^#\n]*?\bhttp_port[ \t]+(?:\[[0-9A-Fa-f:.]*\]:|[A-Za-z0-9.-]+:)?(\d{1,5})\b/gm,
  );
  const ports = [...matches].map((match) => Number(match[1])).filter((port) => port >= 1 && port <= 65535);
  return [...new Set(ports)];
}
