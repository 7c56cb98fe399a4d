import { z } from "zod";
import { kvm2Entry, kvmEntry } from "./kvm";
import { named, option } from "./option";

/** One provider entry; each kind of backend adds its own member. */
export const providerEntry = z.discriminatedUnion("type", [kvmEntry, kvm2Entry]);

export const providers = option(
  named("entry", providerEntry),
  "Where proxies can run: entry name to hosts, images and machine types.",
);

export type ProviderEntry = z.output<typeof providerEntry>;
