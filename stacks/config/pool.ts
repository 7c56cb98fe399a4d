import { z } from "zod";
import { cloudInit } from "./cloud-init";
import { port, proxyHost, seconds } from "./fields";
import { healthCheck } from "./health-check";
import { directImage } from "./kvm";
import { named, option } from "./option";

export const DEFAULT_PORT = 3128;
/** The most members of one pool. */
export const MAX_POOL_SIZE = 1000;

const proxyPort = option(
  port,
  "The port that the proxy listens on. A change makes a new machine where `cloudInit.squid` writes it.",
);
const maxLeases = option(
  z.int().min(0),
  "How many users may hold a lease on the proxy at once. 0 means none: the proxy is not given out.",
);
const labels = option(
  z.record(z.string(), z.string()),
  "Labels of your own, passed on in the stack's `proxies` output.",
);

const host = option(
  z.string(),
  "The one host to run on. Without it members are spread evenly over the entry's hosts.",
  { replaces: true },
);
const zone = option(z.string(), "Only hosts of this zone are taken.", { replaces: true });
const machineType = option(z.string(), "A machine type of the provider entry.", { replaces: true });
const image = option(
  z.union([z.string(), directImage]),
  "An image key of the provider entry, or an image of its own.",
  { replaces: true },
);

const placement = z.strictObject({
  host: host.exactOptional(),
  zone: zone.exactOptional(),
  machineType: machineType.default("small"),
  image: option(
    image,
    "An image key of the provider entry, or an image of its own. Required, here or for each member.",
  ).exactOptional(),
});

const member = z.strictObject({
  port: proxyPort.exactOptional(),
  maxLeases: maxLeases.exactOptional(),
  placement: option(
    z.strictObject({
      host: host.exactOptional(),
      zone: zone.exactOptional(),
      machineType: machineType.exactOptional(),
      image: image.exactOptional(),
    }),
    "Parts that differ from the pool's. A member's own `host` or `zone` replaces both of the pool's.",
  ).exactOptional(),
  cloudInit: option(cloudInit.exactOptional(), "Replaces the pool's `cloudInit` as a whole."),
  labels: option(labels, "Labels that are added to the pool's, or replace them.").exactOptional(),
});

const COUNT_OR_SHARE = 'must be a number of members, 1 or more, or a percentage such as "25%"';

const maxUnavailable = option(
  z.union([z.int().min(1), z.string().regex(/^(100|[1-9]?[0-9])%$/, { error: COUNT_OR_SHARE })], {
    error: COUNT_OR_SHARE,
  }),
  "How many members a change may rebuild at once: a number, or a percentage of the pool, rounded down but at " +
    "least 1. The next ones wait until the checks of those before them pass.",
);

const checked = option(healthCheck, "How a proxy shows that it works.").prefault({});

const managed = z
  .strictObject({
    mode: option(
      z.literal("Managed"),
      "The proxies are machines that this program makes. Cannot change in place.",
    ).default("Managed"),
    provider: option(z.string(), "The provider entry that the members run on. Cannot change in place."),
    size: option(
      z.int().min(0).max(MAX_POOL_SIZE),
      "How many members the pool has; they are named 1, 2, 3 and so on. Instead of `members`.",
    ).exactOptional(),
    members: option(
      // A member without anything of its own is written as a bare key, which YAML reads as null.
      named(
        "member",
        member.nullable().transform((value) => value ?? {}),
      ),
      "The members by name, each with what differs from the pool. Instead of `size`.",
    ).exactOptional(),
    port: proxyPort.default(DEFAULT_PORT),
    maxLeases: maxLeases.default(5),
    maxUnavailable: maxUnavailable.default(1),
    placement: option(placement, "Where members run and what they are built from.").prefault({}),
    cloudInit: option(
      cloudInit.exactOptional(),
      "What runs in the guest: exactly one of `inline`, `file` and `squid`. May be left out where every " +
        "member has its own.",
    ),
    healthCheck: checked,
    wait: option(
      z.enum(["ready", "started"]),
      "`ready`: `up` ends when each proxy answers through itself. `started`: `up` ends when the machines run; " +
        "neither their addresses nor their answers are waited for.",
    ).default("ready"),
    bootTimeoutSeconds: option(seconds, "How long `up` waits for a machine's address.", {
      unit: "seconds",
    }).default(600),
    labels: labels.default({}),
  })
  .meta({ oneOf: [{ required: ["size"] }, { required: ["members"] }] });

const externalMember = z.strictObject({
  endpoint: option(
    z.strictObject({
      host: option(proxyHost, "The proxy's host name or address."),
      port: option(port, "The port that it listens on."),
    }),
    "Where the proxy is.",
  ),
  maxLeases: maxLeases.exactOptional(),
  labels: option(labels, "Labels that are added to the pool's, or replace them.").exactOptional(),
});

const external = z.strictObject({
  mode: option(
    z.literal("External"),
    "The proxies are somebody else's: they are checked and given out, nothing is made. Cannot change in place.",
  ),
  members: option(named("member", externalMember), "The members by name."),
  maxLeases: maxLeases.default(5),
  healthCheck: checked,
  wait: option(
    z.enum(["ready", "started"]),
    "`ready`: `up` ends when each proxy answers through itself. `started`: their answers are not waited for.",
  ).default("ready"),
  labels: labels.default({}),
});

export const pool = z.discriminatedUnion("mode", [managed, external]);

export const pools = option(
  named("pool", pool),
  "The pools of proxies: pool name to how many, where and of what kind.",
);

export type PoolConfig = z.output<typeof pool>;
export type ManagedPool = z.output<typeof managed>;
export type ExternalPool = z.output<typeof external>;
export type MemberConfig = z.output<typeof member>;
