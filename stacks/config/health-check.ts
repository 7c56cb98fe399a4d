import { z } from "zod";
import { httpUrl, seconds } from "./fields";
import { option } from "./option";

const threshold = z.int().min(1).max(100);

export const healthCheck = z.strictObject({
  url: option(httpUrl, "What is requested through the proxy.").default(
    "http://cp.cloudflare.com/generate_204",
  ),
  expectedStatus: option(z.int().min(100).max(599), "The HTTP status that counts as a pass.").default(204),
  intervalSeconds: option(seconds, "The pause between two attempts.", { unit: "seconds" }).default(5),
  timeoutSeconds: option(seconds, "The longest that one attempt may take.", { unit: "seconds" }).default(10),
  failureThreshold: option(threshold, "Failed attempts in a row that make a ready proxy unready.").default(3),
  recoveryThreshold: option(threshold, "Passed attempts in a row that make an unready proxy ready.").default(
    2,
  ),
  waitTimeoutSeconds: option(
    seconds,
    "How long `up` waits for a proxy to become ready, counted from when its address is known.",
    { unit: "seconds" },
  ).default(600),
});
