/**
 * Usage: server.js ADDRESS PORT. The lab's stand-in for a public connectivity check: answers 204 on
 * /generate_204 and 404 elsewhere. It logs nothing.
 */
import http from "node:http";

const [address, port] = process.argv.slice(2);
if (address === undefined || port === undefined) {
  console.error("usage: server.js ADDRESS PORT");
  process.exit(2);
}
const server = http.createServer((request, response) => {
  response.writeHead(request.url === "/generate_204" ? 204 : 404, { "cache-control": "no-store" }).end();
});
server.once("error", (error) => {
  console.error(`target: ${error.message}`);
  process.exit(1);
});
server.listen(Number(port), address);
