import { z } from "zod";
import { cloudInitTexts } from "./cloud-init";
import { pools } from "./pool";
import { providers } from "./provider";

/** The config without its namespace: every type of it is derived from here. */
export const configSchema = z.strictObject({ providers, pools, cloudInit: cloudInitTexts.default({}) });

export type Config = z.output<typeof configSchema>;
