import path from "node:path";
import { binFolder, demoFolder } from "../common/paths";

/**
 * The environment for the Pulumi CLI. What the caller has set stays: a backend, a home, a passphrase of
 * one's own. Without a backend of one's own it is the demo's, whose passphrase is "demo".
 */
export function pulumiEnvironment(
  env: NodeJS.ProcessEnv,
  folders = { bin: binFolder, demo: demoFolder },
): NodeJS.ProcessEnv {
  const ownBackend = env.PULUMI_BACKEND_URL !== undefined;
  const hasPassphrase =
    env.PULUMI_CONFIG_PASSPHRASE !== undefined || env.PULUMI_CONFIG_PASSPHRASE_FILE !== undefined;
  return {
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    ...(ownBackend
      ? {}
      : {
          PULUMI_BACKEND_URL: `file://${path.join(folders.demo, "state")}`,
          PULUMI_HOME: path.join(folders.demo, "pulumi-home"),
        }),
    ...(ownBackend || hasPassphrase ? {} : { PULUMI_CONFIG_PASSPHRASE: "demo" }),
    ...env,
    PATH: [folders.bin, env.PATH].filter(Boolean).join(path.delimiter),
  };
}

/** The demo's own environment, whatever backend and passphrase the caller's shell has for other stacks. */
export function demoEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const {
    PULUMI_BACKEND_URL: _backend,
    PULUMI_HOME: _home,
    PULUMI_CONFIG_PASSPHRASE: _passphrase,
    PULUMI_CONFIG_PASSPHRASE_FILE: _file,
    ...rest
  } = env;
  return pulumiEnvironment(rest);
}
