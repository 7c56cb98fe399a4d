type Library = typeof import("ssh-config", { with: { "resolution-mode": "import" }});

/**
 * The ssh-config package for CommonJS. It ships a CommonJS build, but its types
 * declare the ES module only, so that an `import` of values does not compile.
 */
const library: Library = require("ssh-config");

export const { LineType, glob, SSHConfig } = library;
export type SSHConfig = InstanceType<Library["SSHConfig"]>;
